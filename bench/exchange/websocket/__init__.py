"""WebSocket: messages that come back as they are, on each connection one at a time."""

from bench.exchange.kind import idle_after_s as quiet_s
from bench.exchange.kind import warm_up_by_streams as warm_up
from bench.exchange.kind import warmed_by_streams as warmed
from bench.exchange.websocket.echo import ask, most_possible, rest_s

__all__ = (
    "ask",
    "checks",
    "most_possible",
    "one_at_a_time",
    "quiet",
    "quiet_s",
    "rated",
    "rest_s",
    "unit",
    "warm_up",
    "warmed",
)

unit = rated = "message"
checks = "bench.exchange.websocket.check"
quiet = one_at_a_time = True
