wrk -t1 -c4 -d1 --latency http://127.0.0.1:18099/eof
