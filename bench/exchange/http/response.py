"""One response outside of a load, and how long a service is waited for after it.

curl sends the request, because its messages say what is wrong with a connection.
"""

from __future__ import annotations

import os
import re

from bench.core.formats import plain
from bench.core.programs import memory_file, run_joined
from bench.exchange.kind import MOST_QUIET_S, SILENT, Response
from bench.tools.tool import Load

SLOW_BODY_S = 0.005
"""If a response ends this long after its first byte, it was sent in parts."""
_SAID = re.compile(r"([0-9]{3}) ([0-9.]+) ([0-9.]+)\Z", re.ASCII)


def ask(load: Load, timeout_s: float) -> Response:
    """Send the load's request once."""
    sent, body = load.exchange, memory_file()
    words = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", plain(timeout_s)]
    # The path as it is: no patterns in brackets, no `..`. Like the load tools: HTTP/1.1, no certificate is verified.
    words += ["--max-filesize", "64M", "--globoff", "--path-as-is", "--http1.1", "--insecure"]
    words += ["--output", f"/dev/fd/{body}"]
    words += ["--write-out", "%{stderr}\n%{http_code} %{time_total} %{time_starttransfer}"]
    words += ["--head"] if sent.method == "HEAD" else ["--request", sent.method]
    words += [word for line in load.headers for word in ("-H", line)]
    if sent.method != "HEAD" and sent.body:
        words += ["--data-raw", sent.body]
    elif sent.method != "HEAD" and load.body_file:
        words += ["--data-binary", f"@{load.body_file}"]
    try:
        done = run_joined([*words, load.url], (body,))
        text = os.pread(body, 1 << 16, 0).replace(b"\0", b"").rstrip(b"\n").decode(errors="surrogateescape")
    except OSError as error:
        return Response(SILENT, "", f"curl: {error.strerror}")
    finally:
        os.close(body)
    output = done.stdout.decode(errors="replace").rstrip("\n")
    said = _SAID.match(output.rpartition("\n")[2])
    if not said:
        return Response(SILENT, "", output)
    # A good status with an incomplete or endless body does not count as a response.
    status, body_s = SILENT if done.returncode else said[1], float(said[2]) - float(said[3])
    return Response(status, said[2], output.partition("\n")[0], body_s, text)


def rest_s(response: Response | None) -> float:
    """How long to wait for the rest of a response that is sent in parts; 0 if the service sends it as a whole."""
    body_s = response.body_s if response else 0.0
    return min(MOST_QUIET_S, 1.5 * body_s) if body_s > SLOW_BODY_S else 0.0
