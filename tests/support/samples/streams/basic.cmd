streams websocket -connections 4 -size 16 -duration 0.2s -timeout 5s ws://127.0.0.1:8080/ws/echo
