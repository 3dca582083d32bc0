"""What a proxy before a service says: which bad statuses are its own, why, and how often it asked again.

nginx has a line for each request with its status and those of the containers that it asked, and one for each failure.
HAProxy has a line for each request with its status, how the session ended, and how often it tried to connect again
(docs.haproxy.org/3.0/configuration.html, 8.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

CAUSES_OF_NGINX: Mapping[str, str] = MappingProxyType(
    {
        "no live upstreams": "no_container",
        "connect() failed (111": "refused",
        "connect() failed (113": "unreachable",
        "prematurely closed connection": "closed",
        "(104: Connection reset by peer)": "reset",
        "(32: Broken pipe)": "reset",
        "upstream timed out": "timed_out",
    }
)
"""By words of its error log; `closed`: after the request was sent, and before a response had come."""
CAUSES_OF_HAPROXY: Mapping[str, str] = MappingProxyType(
    {
        "SC": "refused",
        "sC": "unreachable",
        "SH": "closed",
        "sH": "timed_out",
        "SQ": "no_container",
        "sQ": "no_container",
    }
)
"""By how a session ended; a connection that is not established in time is `sC`."""
REQUEST = "request|"


def proxy_figures(proxy: str, lines: Sequence[str]) -> dict[str, float | int | str | bool | None]:
    """`proxy_502`: so many were the proxy's own, `server_502`: the server's; `retried`: answered well at another try.

    `cause_WHY`: so many failures had this cause; nginx tells it of each try, HAProxy of requests that it gave up.
    """
    return dict(sorted(Counter(_READ[proxy](lines)).items())) if proxy in _READ else {}


def _of_nginx(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(REQUEST) and line.count("|") == 3:
            _, status, tries, heads = line.split("|")
            # A container that gave no status has no time of its head.
            own = heads.replace(",", " ").replace(":", " ").split()[-1:] in (["-"], [])
            if status.startswith("5"):
                yield f"{'proxy' if own else 'server'}_{status}"
            elif len(tries.replace(",", " ").split()) > 1:
                yield "retried"
        elif "upstream" in line:
            for words, cause in CAUSES_OF_NGINX.items():
                if words in line:
                    yield f"cause_{cause}"
                    break


def _of_haproxy(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(REQUEST) and line.count("|") == 3:
            _, status, ended, retries = line.split("|")
            if status.startswith("5"):
                yield f"{'server' if ended[:1] == '-' else 'proxy'}_{status}"
            elif retries.lstrip("+") not in ("", "0") and status.startswith("2"):
                yield "retried"
            if cause := CAUSES_OF_HAPROXY.get(ended[:2]):
                yield f"cause_{cause}"


_READ: Mapping[str, Callable[[Sequence[str]], Iterator[str]]] = MappingProxyType(
    {"nginx": _of_nginx, "haproxy": _of_haproxy}
)
