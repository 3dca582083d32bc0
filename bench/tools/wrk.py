"""wrk: closed loop, for a time."""

from __future__ import annotations

from bench.tools.load import Asked, Command, Load
from bench.tools.tool import CannotError, Tool, found, printed, whole


class Wrk(Tool):
    """Each thread takes an equal share of the connections; methods other than GET need a Lua script."""

    name = "wrk"
    duration_digit_s = 0.005
    latency_digit_s = 0.000005
    mixes_targets = True
    ends_frozen = True

    def refusal(self, asked: Asked) -> str | None:
        """No count; without a script, only GET."""
        if cause := super().refusal(asked):
            return cause
        if asked.count:
            return "wrk runs for a time, not for a number of requests"
        return "wrk cannot send a body without a Lua script" if not asked.targets and asked.method != "GET" else None

    def version(self) -> str:
        """From its usage, which it prints with exit status 1."""
        return found(r"\Awrk (\S*)", printed("wrk", "-v"))

    def command(self, load: Load) -> Command:
        """Whole numbers only. Threads must divide the connections: wrk silently drops the remainder."""
        request = load.request
        if not request.requests and (request.method != "GET" or request.body_file):
            raise CannotError(f"send {request.method} without a Lua script")
        if load.count is not None or load.rate is not None:
            raise CannotError("stop at a count or keep to a rate")
        connections, threads = whole("connections", load.connections), whole("threads", load.threads)
        duration, timeout = whole("duration", load.duration_s), whole("timeout", load.timeout_s)
        if int(connections) % int(threads):
            raise CannotError(f"share {connections} connections evenly between {threads} threads")
        words = ["wrk", "-t", threads, "-c", connections, "-d", f"{duration}s", "--timeout", f"{timeout}s", "--latency"]
        words += [] if load.keepalive else ["-H", "Connection: close"]
        words += ["-s", f"{request.requests}/requests.lua"] if request.requests else []
        return Command((*words, load.url))

    def cpus(self, threads: int, cpus: int) -> int:
        """One per thread."""
        return min(cpus, threads)
