streams sse -events 10 -gap 20ms -rate 20 -duration 0.5s -timeout 5s http://127.0.0.1:8080/sse/10/20
