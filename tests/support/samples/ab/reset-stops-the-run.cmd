ab -n 60 -c 2 http://127.0.0.1:18099/rst
