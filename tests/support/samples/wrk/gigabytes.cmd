wrk -t2 -c8 -d2 --latency http://127.0.0.1:18099/big
