"""Synthetic records of events with known counts.

`python tests/support/event_runs.py FOLDER` writes a run of them for a look at its report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from text_files import written

from bench.plan.event import EventCase
from bench.plan.events import EVENTS
from bench.records.event import FILE, Action, Bin, Ended, EventRecord, Fate, GrowthSample
from bench.records.record import dump

RATE, BEFORE_S = 100.0, 3.0
BIN_S = 0.1
CUT = {"cut_after_s": 30.0, "cut": 256, "opened": 256, "most_k": 256}
GROWN = tuple(GrowthSample(1e5 * part, 4e7 + 1e7 * part) for part in range(10))
"""Memory that grows by 100 bytes a request."""
DOCUMENTED = {
    "gunicorn": "HUP starts new workers and stops the old ones (https://docs.gunicorn.org/en/stable/signals.html)"
}


def event(
    service: str = "uvicorn",
    name: str = "reload",
    case: str | EventCase | None = None,
    *,
    round: int = 1,
    sent: int | None = 1000,
    lost: int = 0,
    fate: Fate = Fate.RESET,
    gap_s: float = 0.05,
    recovered_s: float | None = 0.4,
    gone: bool = False,
    **changes: Any,
) -> EventRecord:
    """Loses `lost` requests after the action, or with `gone` all later ones; a reload is with keep-alive by itself."""
    case = ("keep-alive" if name == "reload" else "") if case is None else str(case)
    package = changes.pop("package", None)
    count = sent or 0
    lost = count - int(RATE * BEFORE_S) if gone else lost
    fates = {Fate.ANSWERED: count - lost} | ({fate: lost} if lost else {})
    version = f"-{package.partition('==')[2].replace('.', '-')}" if package else ""
    values: dict[str, Any] = {"id": f"r{round:02}-{service}-{name}", "round": round, "server": service}
    values |= {"service": "null" if service == "null" else f"{service}-asgi{version}-py313-debian"}
    values |= {"framework": "asgi", "python": "3.13", "base": "debian", "package": package, "scenario": "delay-50"}
    values |= {"event": name, "case": EventCase.read(case)}
    values |= {"documented": DOCUMENTED.get(service, "") if name == "reload" else ""}
    values |= {"connections": 16 if case.startswith("keep-alive") else None}
    values |= {"rate": RATE, "capacity": RATE / 0.3, "share": 0.3, "timeout_s": 5.0, "window_s": count / RATE}
    values |= {"actions": (Action("SIGHUP to the main process", BEFORE_S, 0.01),), "sent": sent, "fates": fates}
    values |= {"longest_gap_s": gap_s, "p99_around_s": 0.19, "p99_before_s": 0.057, "recovered_s": recovered_s}
    values |= {"workers_before": (10, 11), "workers_after": (20, 21)}
    values |= {"happened": True, "happened_by": "all workers have other pids", "late_p99_s": 0.0004}
    values |= {"memory_peak_bytes": 95_000_000 + 1_000_000 * round, "timeline": timeline(count, lost, gone=gone)}
    if gone:
        values |= dict.fromkeys(("longest_gap_s", "p99_around_s", "recovered_s")) | {"workers_after": ()}
        values |= {"missing": {"recovered_s": "it did not answer again", "longest_gap_s": "it had no end"}}
    return EventRecord(**values | changes)


def timeline(sent: int, lost: int, *, gone: bool = False) -> tuple[Bin, ...]:
    bins, each, left = [], int(RATE * BIN_S), lost
    for place in range(sent // each):
        at_s = round(place * BIN_S, 1)
        failed = min(left, each if gone else 2) if at_s >= BEFORE_S else 0
        left -= failed
        slow = BEFORE_S <= at_s < BEFORE_S + 0.5
        bins.append(Bin(at_s, each - failed, failed, None if failed == each else 0.19 if slow else 0.057))
    return tuple(bins)


def cannot(service: str, name: str, case: str, why: str, **more: Any) -> EventRecord:
    ended = {"ended": Ended.CANNOT, "detail": why, "sent": None, "fates": {}, "happened": None, "happened_by": ""}
    none = dict.fromkeys(("rate", "capacity", "share", "timeout_s", "window_s", "recovered_s", "p99_around_s"))
    none |= dict.fromkeys(("p99_before_s", "longest_gap_s", "memory_peak_bytes", "late_p99_s"))
    reasons = dict.fromkeys(none, why)
    return event(service, name, case, **ended | none | {"timeline": (), "actions": (), "missing": reasons} | more)


def releases(losses: Sequence[int] = (3, 5, 7, 4, 6), *, sent: int = 1000) -> list[EventRecord]:
    """Two releases of gunicorn; the first loses this many requests at a reload in each round, the second none."""
    return [
        event("gunicorn", package=f"gunicorn=={version}", round=number, sent=sent, lost=lost)
        for version, each in (("26.1.0", losses), ("27.0.1", [0] * len(losses)))
        for number, lost in enumerate(each, 1)
    ]


def bad_day(rounds: int = 7) -> list[EventRecord]:
    """Records with a cell for each kind of finding."""
    return [one for number in range(1, rounds + 1) for one in _bad_round(number)]


def _bad_round(number: int) -> list[EventRecord]:
    of, new = partial(event, round=number), "new connections"
    answered = {"rate_2_1.5x": 500.0, "rate_3_3x": 1000.0, "goodput_3_3x": 40.0}
    failed: dict[str, Any] = {"ended": Ended.FAILED, "detail": "it did not start", "sent": None, "fates": {}}
    none = cannot("waitress", "reload", "", "Waitress has no reload (https://example.org/waitress)")
    return [
        of("gunicorn", lost=2 + number),
        of("uvicorn", gap_s=2.1, recovered_s=2.3),
        *[none] * (number == 1),
        of("null"),
        of("gunicorn", case=new, lost=1),
        of("uvicorn", case=new, lost=number % 3),
        of("granian", case=new, happened=False, happened_by="0 of 4 workers were replaced"),
        of("null", case=new),
        of("gunicorn", "killed", lost=1, fate=Fate.CUT_SHORT),
        of("uvicorn", "killed", gone=True, fate=Fate.REFUSED),
        of("waitress", "killed", gone=number == 2, fate=Fate.REFUSED),
        of("gunicorn", "stop", sent=400, exit_s=1.2, recovered_s=None, extras={"long_fate": "cut_short"}),
        of("uvicorn", "stop", sent=400, lost=3, exit_s=5.0 + number / 10, recovered_s=None),
        of("waitress", "stop", causes=("the client was late",), exit_s=10.0),
        of("gunicorn", "overload", timeout_s=1.0, lost=500, recovered_s=None),
        of("uvicorn", "overload", timeout_s=1.0, lost=480, fate=Fate.TIMED_OUT, recovered_s=12.0, extras=answered),
        of("waitress", "overload", timeline=(), **failed),
        of("gunicorn", "slow", "silent", timeout_s=1.0, extras={"smallest_k": 4, "most_k": 256}),
        of("uvicorn", "slow", "silent", timeout_s=1.0, extras=CUT),
    ]


SERVERS = ("gunicorn", "uvicorn", "granian", "hypercorn", "waitress", "uwsgi", "bjoern", "cheroot")


def every_event() -> list[EventRecord]:
    """Each case of each event for eight servers, in one round."""
    phases = tuple(Action(f"{times} times the capacity", at_s) for times, at_s in ((1.5, 2.0), (3, 4.0), (0.5, 8.0)))
    swaps = tuple(Action(f"SIGTERM to container {number}", 3.0 * number, 2.2) for number in (1, 2))
    slow = tuple(Action(f"{2**step} silent connections", 2.0 + step) for step in range(7))
    behind = {"swap_1_s": 2.2, "swap_2_s": 2.2, "proxy_502": 4, "killed_1": True, "cause_no_container": 3}
    own: dict[str, dict[str, Any]] = {
        "overload": {"actions": phases, "timeout_s": 1.0},
        "rolling": {"actions": swaps, "extras": behind, "lost": 4},
        "slow": {"actions": slow, "timeout_s": 1.0, "extras": CUT | {"smallest_k": 8}},
        "memory": {"points": GROWN, "extras": {"requests": 10**6, "parts_s": 130.0}},
        "idle-close": {"actions": (), "extras": {"idle_s": 5.0, "lost_to_ms": 20.0}},
    }
    cases = [(name, one.case) for name, kind in EVENTS.items() for one in kind.cases]
    return [event(server, name, case, **own.get(name, {"lost": 2})) for server in SERVERS for name, case in cases]


def services_of(records: Iterable[EventRecord]) -> dict[str, dict[str, Any]]:
    names = ("server", "framework", "python", "base", "package", "settings")
    measured = [one for one in records if one.service != "null"]
    return {one.service: {name: str(value) for name in names if (value := getattr(one, name))} for one in measured}


def defaults_of(records: Iterable[EventRecord]) -> dict[str, dict[str, dict[str, Any]]]:
    """Made-up defaults in the form of run.json; gunicorn was given another timeout than the others."""

    def entry(name: str, value: str, given: str | None = None) -> dict[str, Any]:
        return {"value": value, "given": given, "source": f"https://example.org/{name}"}

    shared = {"keepalive": entry("tornado", "3,600 s", "3600"), "backlog": entry("backlog", "100", "2048")}
    return {
        name: {"timeout": entry("workers", "30 s", "5" if "gunicorn" in name else "30"), **shared}
        | ({"silent": entry("clients", "none")} if "waitress" in name else {})
        for name in services_of(records)
    }


def write_events(folder: Path, records: Sequence[EventRecord], **facts: Any) -> Path:
    """Writes a run that has only these records."""
    facts = {"run": folder.name, "preset": "bad-day", "title": "A bad day", "rounds": 5} | facts
    facts |= {"schema": 1, "services": services_of(records)}
    return written(folder, {"run.json": json.dumps(facts), "plan.jsonl": "", FILE: "".join(dump(records))})


if __name__ == "__main__":
    from bench.cli.report import build_verb

    build_verb([str(write_events(Path(sys.argv[1]), bad_day()))])
