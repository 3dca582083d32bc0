"""What a report has to say of the servers of its run that already ran (--target)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.analysis.runs.own_app import own_app_of
from bench.core.files import mapping
from bench.plan.running import NO_COUNTERS, OWNED
from bench.run.reader import Run
from bench.words.runs.own_app import request_words

FACT = "already running"


def already_running(source: Run) -> Iterator[tuple[str, str]]:
    """(name, words) for each of them."""
    for name, entry in mapping(source.facts.get("services")).items():
        if mapping(entry).get("url"):
            yield FACT, " ".join(_sentences(source, str(name), mapping(entry)))


def _sentences(source: Run, name: str, entry: Mapping[str, Any]) -> Iterator[str]:
    planned = [one for one in source.planned if one.service == name]
    app = own_app_of(source.facts)
    asked = dict.fromkeys(request_words(app, o.scenario) if app else f"{o.method} {o.path}" for o in planned)
    yield f"{name} is {entry['url']}, asked for {'; '.join(asked)}."
    yield f"It has {NO_COUNTERS}, with no limit of CPUs or memory."
    if any(one.mode == "turns" for one in planned):
        yield "Its tables are ranked by requests/s, and loaded from the host's network."
    else:
        yield "It is measured alone, from the host's network: it has no rank."
    yield "It has to answer as the app does." if app else "What it answered first is taken for right."
    if entry.get("owned"):
        yield f"It is not on this machine: the user states that they own it ({OWNED})."
