streams websocket -connections 2 -size 16 -duration 0.2s -timeout 1s ws://127.0.0.1:8081/ws/echo
