"""A server that leaks memory and files and shares unevenly, with the real client and wrk over 127.0.0.1."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from known_server import happened, wrong

from bench.analysis.events import EventCell
from bench.events.balance.figures import connections_of
from bench.events.memory.words import growth_of
from bench.plan.event import Phase
from bench.plan.events import EVENTS, cases_of
from bench.records.event import EventRecord, Fate
from bench.records.event_window import end_of, read_log
from bench.stats.event_counts import STEADY, TOO_SHORT
from bench.tools.sockets import REQUESTS
from bench.words.event_cells import cell_words
from calibration.checks import Known
from driver.messages import Action

KNOWN = Known(drops=0, back_s=0.2, exit_s=0.2, slow=200, stall_s=0.1, idle_s=20)
LEAKS = replace(KNOWN, leak=100)


FIRST_S = 2.0
"""Seconds of the first phase, in which workers get unequal shares."""


def cell_of(record: EventRecord) -> EventCell:
    """The record's cell, even if the client had to wait for a CPU."""
    return EventCell("a", (replace(record, causes=()),))


SHORT = replace(cases_of("memory-requests")[0], phases=(Phase(1.0, 7.0),), parts=7, pool=8, most_requests=10**9)
"""With the fewest parts from which a slope is estimated."""


@pytest.mark.parametrize(("known", "word"), [(LEAKS, TOO_SHORT), (KNOWN, STEADY)])
def test_a_leak_is_what_the_server_leaks_and_none_is_steady(tmp_path: Path, known: Known, word: str) -> None:
    record, told = happened(tmp_path, SHORT, known)
    assert not wrong(record, known)
    assert growth_of(cell_of(record)).word == word
    # wrk does not count requests in flight when a part ends.
    assert 0 <= told["answered"] - record.answered <= 7 * 8 + 1
    assert len(record.points) == 7 and record.fates == {Fate.ANSWERED: record.sent}
    assert record.rate is None and record.missing["rate"]


def test_each_reload_leaves_two_files_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, a request keeps its descriptor for longer.
    monkeypatch.setattr("driver.steps.events.COUNTS", 50)
    known = replace(KNOWN, files=2, drops=1)
    event = replace(
        cases_of("memory-20-reloads")[0],
        most_rate=10.0,
        phases=(Phase(0.3, 200.0),),
        actions=(Action(0.5, "signal", "HUP", "main"),),
    )
    record, told = happened(tmp_path, event, known)
    assert not wrong(record, known)
    assert [point.done for point in record.points] == [*range(21)]
    assert told["resets"] >= record.lost == 20
    assert cell_words(cell_of(record)).head in {f"grows {count} descriptors a reload" for count in ("1.9", "2", "2.1")}


@pytest.mark.parametrize("name", ["8-pooled", "64-kept-alive", "new-connections"])
def test_seventy_percent_to_one_worker(tmp_path: Path, name: str) -> None:
    known = replace(KNOWN, uneven=0.7)
    event = cases_of(f"balance-{name}-plain")[0]
    phases = tuple(replace(one, seconds=min(one.seconds, FIRST_S)) for one in event.phases)
    record, told = happened(tmp_path, replace(event, phases=phases), known)
    share = record.extras["worst_share"]
    assert isinstance(share, float)
    assert not [one for one in wrong(record, known) if one.what != "requests to it"]
    of_workers = {int(key.split()[-1]): count for key, count in told.items() if key.startswith("answered by")}
    assert set(of_workers) == set(record.workers_before)
    # The request that checked whether the server is up is not in the log.
    assert sum(of_workers.values()) == record.answered + 1
    words = cell_words(cell_of(record))
    assert words.head.startswith(f"{100 * share:.0f} % to one of 4 workers")
    # Kept connections are used in turn, except those that are still busy when the next request is due.
    (log,) = (read_log(path.read_bytes()) or () for path in tmp_path.rglob(REQUESTS))
    rows = [row for row in log if row.due < FIRST_S and not row.kind]
    behind = sum(sum(end_of(other) > row.due for other in rows[:number]) for number, row in enumerate(rows)) / len(rows)
    assert abs(share - 0.7) <= max(0.05, 1 / sum(connections_of(record))) + behind / (record.connections or math.inf)
    if record.connections:
        even = record.extras["even_worst_share"]
        assert isinstance(even, float) and (even < 0.27 or not record.counts), words
    else:
        counts = [record.extras[f"requests_{number}"] for number in (1, 2, 3, 4)]
        assert counts[0] == max(of_workers.values()) and sum(map(float, filter(None, counts))) == record.answered
        assert words.mark == "bad" and "more than chance explains" in words.more


def test_large_bodies_are_sent_first(tmp_path: Path) -> None:
    event = replace(cases_of("memory-10-mb-bodies")[0], phases=(Phase(1.0, 1.0),), parts=1, bodies=3, pool=4)
    record, _ = happened(tmp_path, event, KNOWN)
    assert (record.extras["bodies"], record.fates.get(Fate.OTHER_STATUS, 0)) == (3, 3)
    assert record.sent == sum(record.fates.values()) and record.actions[0].what == "3 large bodies"


def test_every_case_says_what_it_needs() -> None:
    alone = {event.level for kind in EVENTS.values() for event in kind.cases if event.alone}
    assert {"memory-requests", "memory-10-mb-bodies", "balance-8-pooled-5-ms-of-cpu"} <= alone
    assert "memory-20-reloads" not in alone
