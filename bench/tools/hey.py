"""hey: closed loop, for a time or a count, as fast as it goes or held to a rate for each connection."""

from __future__ import annotations

from bench.core.formats import plain
from bench.tools.load import Command, Load
from bench.tools.tool import Tool, check_duration_or_count, found, header_options, printed, whole


class Hey(Tool):
    """Also warms up for all tools."""

    name = "hey"
    duration_digit_s = 0.00005
    latency_digit_s = 0.00005
    limits_rate = True

    def version(self) -> str:
        """The package's: hey does not print one."""
        return found(r"\A([0-9]\S*)", printed("dpkg-query", "--show", "--showformat", "${Version}", "hey"))

    def command(self, load: Load) -> Command:
        """Its rate is per connection."""
        check_duration_or_count(load)
        timeout, request = whole("timeout", load.timeout_s), load.request
        words = ["hey", "-c", str(load.connections), "-t", timeout, "-disable-redirects"]
        words += ["-n", str(load.count)] if load.duration_s is None else ["-z", f"{plain(load.duration_s)}s"]
        if load.rate is not None and load.connections:
            words += ["-q", plain(load.rate / load.connections)]
        words += [] if load.keepalive else ["-disable-keepalive"]
        words += [] if request.method == "GET" else ["-m", request.method]
        words += [*header_options(load), *(["-D", request.body_file] if request.body_file else [])]
        return Command((*words, load.url))
