streams websocket -connections 2 -rate 200 -duration 0.5s -timeout 5s ws://127.0.0.1:8080/nothing
