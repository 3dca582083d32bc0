"""A stop: SIGTERM with requests in flight, idle connections and a response that takes 5 s."""
