wrk -t1 -c4 -d1 http://no.such.invalid/
