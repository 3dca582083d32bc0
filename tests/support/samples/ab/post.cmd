ab -n 20 -c 2 -p post.json -T application/json http://127.0.0.1:18099/x
