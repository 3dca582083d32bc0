echo "GET http://127.0.0.1:18099/x" | vegeta attack -duration=1s -rate=1 | vegeta report
