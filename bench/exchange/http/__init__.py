"""HTTP: a request, and a response that ends."""

from bench.exchange.http.possible import most_possible
from bench.exchange.http.response import ask, quiet_s, rest_s
from bench.exchange.http.warm_up import warm_up, warmed

__all__ = ("ask", "checks", "most_possible", "quiet", "quiet_s", "rest_s", "unit", "warm_up", "warmed")

unit, quiet, checks = "response", True, "bench.exchange.http.check"
