"""Balance: how evenly four workers share connections and requests."""
