"""How long each swap took, and from the proxy's log its own error responses, their causes, and its retries.

nginx logs one line per request, with its status and those of the containers tried, and one line per failure. HAProxy
logs one line per request, with its status, how the session ended, and the number of connection retries
(docs.haproxy.org/3.0/configuration.html, 8.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from bench.records.event_window import EventFigures, Figures, Window

KILLED = 137
"""The exit status of a container that Docker had to kill."""
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
"""Causes by words in its error log; `closed`: after the request was sent, before a response came."""
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
"""Causes by termination state of the session; `sC` includes connections that were not established in time."""
REQUEST = "request|"


def proxy_figures(proxy: str, lines: Sequence[str]) -> Figures:
    """Counts from the proxy's log, by name.

    - `proxy_502`, `server_502`, ...: responses with this status that were the proxy's own or the server's.
    - `proxy_502_reset`, ...: those of the proxy by cause, that of the last try.
    - `retried`: requests answered well after a retry.
    - `cause_...`: failures by cause; nginx logs the cause of each try, HAProxy only that of requests it gave up.
    """
    return dict(sorted(Counter(_READ[proxy](lines)).items())) if proxy in _READ else {}


def _of_nginx(lines: Sequence[str]) -> Iterator[str]:
    # It handles one event at a time, so the line of a request whose last try failed follows that of the failure.
    last = ""
    for line in lines:
        if line.startswith(REQUEST) and line.count("|") == 3:
            _, status, tries, heads = line.split("|")
            # "-": the last container tried sent no response header, so the status is the proxy's own.
            own = heads.replace(",", " ").replace(":", " ").split()[-1:] in (["-"], [])
            if status.startswith("5"):
                yield from _status("proxy" if own else "server", status, last)
            elif len(tries.replace(",", " ").split()) > 1:
                yield "retried"
            last = ""
        elif "upstream" in line:
            last = next((cause for words, cause in CAUSES_OF_NGINX.items() if words in line), "")
            if last:
                yield f"cause_{last}"


def _of_haproxy(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(REQUEST) and line.count("|") == 3:
            _, status, ended, retries = line.split("|")
            cause = CAUSES_OF_HAPROXY.get(ended[:2], "")
            if status.startswith("5"):
                yield from _status("server" if ended[:1] == "-" else "proxy", status, cause)
            elif retries.lstrip("+") not in ("", "0") and status.startswith("2"):
                yield "retried"
            if cause:
                yield f"cause_{cause}"


def _status(whose: str, status: str, cause: str) -> Iterator[str]:
    """An error status, and why the proxy sent it."""
    yield f"{whose}_{status}"
    if whose == "proxy" and cause:
        yield f"{whose}_{status}_{cause}"


_READ: Mapping[str, Callable[[Sequence[str]], Iterator[str]]] = MappingProxyType(
    {"nginx": _of_nginx, "haproxy": _of_haproxy}
)


def _figures(window: Window) -> Figures:
    figures: Figures = {}
    for number, action in enumerate(window.done, 1):
        ended = action.get("exit_ns")
        figures[f"swap_{number}_s"] = action["took_ns"] / 1e9 if not action.get("error") else None
        figures[f"exit_{number}_s"] = ended / 1e9 if isinstance(ended, int) else None
        figures[f"killed_{number}"] = action.get("exit_code") == KILLED
    return figures | proxy_figures(window.event.proxy, window.proxy)


def _replaced(window: Window) -> tuple[bool, str]:
    """Containers that ended and then served with another process."""
    pids = [(one.get("pid"), one.get("pid_after")) for one in window.done]
    replaced = sum(bool(before and after) and before != after for before, after in pids)
    return replaced == len(window.event.actions), f"{replaced} of {len(window.event.actions)} containers were replaced"


FIGURES = EventFigures(figures=_figures, evidence=_replaced)
