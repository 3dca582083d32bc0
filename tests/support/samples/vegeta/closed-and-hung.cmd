echo "GET http://127.0.0.1:18099/multi" | vegeta attack -duration=1s -rate=40 -timeout=500ms | vegeta report
