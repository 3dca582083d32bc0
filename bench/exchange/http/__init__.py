"""HTTP: a request, and a response that ends."""

from bench.exchange.http.possible import most_possible
from bench.exchange.http.response import ask, rest_s
from bench.exchange.http.warm_up import warm_up, warmed
from bench.exchange.kind import idle_after_s as quiet_s

__all__ = ("ask", "checks", "most_possible", "one_at_a_time", "quiet", "quiet_s", "rated", "rest_s", "unit", "warm_up", "warmed")

unit, rated, checks = "response", "request", "bench.exchange.http.check"
quiet = one_at_a_time = True
