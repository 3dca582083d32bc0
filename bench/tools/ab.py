"""ab: closed loop, for a time or a count; HTTP/1.0, one thread."""

from __future__ import annotations

from bench.tools.load import Asked, Command, Load
from bench.tools.tool import CannotError, Tool, check_duration_or_count, found, header_options, printed, whole

METHODS = ("GET", "HEAD", "POST", "PUT")


class Ab(Tool):
    """Failed receives count as completed requests."""

    name = "ab"
    duration_digit_s = 0.0005
    latency_digit_s = 0.0005
    ends_frozen = True
    told_status = 1
    uncounted = ("connect",)

    def refusal(self, asked: Asked) -> str | None:
        """An own app's method must be one that it has a flag for."""
        cause = super().refusal(asked)
        return cause or (f"ab cannot send {asked.method}" if asked.targets and asked.method not in METHODS else None)

    def version(self) -> str:
        """From its banner."""
        return found(r"Version ([0-9.]*)", printed("ab", "-V"))

    def command(self, load: Load) -> Command:
        """`-l`: bodies may differ in length. `-r`: a reset is counted and does not end the load. `-q`: no progress."""
        if load.rate is not None:
            raise CannotError("keep to a rate")
        check_duration_or_count(load)
        timeout, request = whole("timeout", load.timeout_s), load.request
        words = ["ab", "-q", "-l", "-r", "-s", timeout, "-c", str(load.connections)]
        words += ["-k"] if load.keepalive else []
        body = request.body_file or "/dev/null"
        options = {"GET": [], "HEAD": ["-i"], "POST": ["-p", body], "PUT": ["-u", body]}
        if request.method not in options:
            raise CannotError(f"send {request.method}: GET, HEAD, POST and PUT only")
        words += [*options[request.method], *header_options(load)]
        if load.duration_s is not None:
            # -t sets a count of 50000, hence a larger one after it.
            words += ["-t", whole("duration", load.duration_s), "-n", "10000000"]
        else:
            words += ["-n", str(load.count)]
        return Command((*words, load.url))

    def cpus(self, threads: int, cpus: int) -> int:
        """It has one thread."""
        return min(cpus, 1)
