hey -n 40 -c 4 -t 1 http://127.0.0.1:18099/multi
