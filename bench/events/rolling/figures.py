"""How long each swap took, and from the proxy's log its own error responses, their causes, and its retries.

nginx logs one line per request, with its status and those of the containers tried, and one line per failure. HAProxy
logs one line per request, with its status, how the session ended, and the number of connection retries
(docs.haproxy.org/3.0/configuration.html, 8.5).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from bench.core.files import text_of
from bench.records.event_window import EventFigures, Figures, Window

KILLED = 137
"""The exit status of a container that Docker had to kill."""
CAUSES: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(text_of(Path(__file__).with_name("causes.toml")))
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
            last = _cause("nginx", line)
            if last:
                yield f"cause_{last}"


def _of_haproxy(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(REQUEST) and line.count("|") == 3:
            _, status, ended, retries = line.split("|")
            cause = _cause("haproxy", ended[:2])
            if status.startswith("5"):
                yield from _status("server" if ended[:1] == "-" else "proxy", status, cause)
            elif retries.lstrip("+") not in ("", "0") and status.startswith("2"):
                yield "retried"
            if cause:
                yield f"cause_{cause}"


def _cause(proxy: str, said: str) -> str:
    """The first cause that this part of its log shows; empty for none."""
    return next((name for name, cause in CAUSES.items() if any(words in said for words in cause[proxy])), "")


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
    for number, action in enumerate(window.told.actions, 1):
        ended = action.get("exit_ns")
        figures[f"swap_{number}_s"] = action["took_ns"] / 1e9 if not action.get("error") else None
        figures[f"exit_{number}_s"] = ended / 1e9 if isinstance(ended, int) else None
        figures[f"killed_{number}"] = action.get("exit_code") == KILLED
    return figures | proxy_figures(window.event.proxy, window.proxy)


def _replaced(window: Window) -> tuple[bool, str]:
    """Containers that ended and then served with another process."""
    pids = [(one.get("pid"), one.get("pid_after")) for one in window.told.actions]
    replaced = sum(bool(before and after) and before != after for before, after in pids)
    return replaced == len(window.event.actions), f"{replaced} of {len(window.event.actions)} containers were replaced"


FIGURES = EventFigures(figures=_figures, evidence=_replaced)
