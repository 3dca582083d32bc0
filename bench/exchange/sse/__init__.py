"""Server-sent events: a response that goes on, with one event after another."""

from bench.exchange.kind import idle_after_s as quiet_s
from bench.exchange.kind import warm_up_by_streams as warm_up
from bench.exchange.kind import warmed_by_streams as warmed
from bench.exchange.sse.stream import ask, most_possible, rest_s

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

unit = rated = "event"
checks = "bench.exchange.sse.check"
quiet = one_at_a_time = False
