"""Texts about events: a file in golden/ for each kind of finding."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from event_runs import bad_day, cannot, event, releases, services_of
from golden import Said, cases, same_as

from bench.analysis.events import EventCell, event_table
from bench.records.event import EventRecord, Fate, GrowthSample
from bench.run.facts import RunFacts, run_facts_of
from bench.stats.table_verdicts import NO_WINNER
from bench.words.event_cells import cell_words
from bench.words.events import MOST_SENTENCES, EventsText, describe_events

GOLDEN = Path(__file__).with_name("golden")


def events_text(records: list[EventRecord]) -> EventsText:
    events = describe_events(records, run_facts_of({"services": services_of(records)}))
    assert events
    return events


def of(name: str, case: str | None = None, **more: Any) -> EventRecord:
    """The record of an event of uvicorn."""
    return event("uvicorn", name, case, **more)


def growth(bytes_each: float, requests: int, noise: float = 0.0, **more: float) -> EventRecord:
    """The record of memory that grows by `bytes_each` per request."""
    done = [requests * (part + 0.5) / 10 for part in range(10)]
    points = tuple(GrowthSample(at, 4e7 + at * bytes_each + noise * (place % 2)) for place, at in enumerate(done))
    extras = {"requests": requests, "parts_s": 130.1, **more}
    return of("memory", "requests", extras=extras, points=points, timeline=(), sent=requests)


def reloads(files: int) -> EventRecord:
    points = tuple(GrowthSample(number, 40 + files * number) for number in range(21))
    return of("memory", "20 reloads", extras={"reloads": 20}, points=points)


def balance(connections: tuple[int, ...], **more: float) -> EventRecord:
    extras = {f"connections_{number}": count for number, count in enumerate(connections, 1)}
    shares = {"workers": len(connections), "worst_share": max(connections) / sum(connections)}
    return of("balance", "64 kept-alive", extras=extras | shares | more)


CASES = tomllib.loads(Path(__file__).with_name("events.toml").read_text(encoding="utf-8"))
MAKERS = {maker.__name__: maker for maker in (growth, reloads, balance, cannot)}


def made(*, of: str = "", none: Sequence[str] = (), **facts: Any) -> EventRecord:
    """A record of events.toml."""
    facts |= dict.fromkeys(none)
    if maker := next(filter(facts.__contains__, MAKERS), ""):
        return replace(MAKERS[maker](**facts.pop(maker)), **facts)
    return event(**facts)


def cells_of_events() -> Said:
    """Cells as text: of the same record in each of three rounds, unless a case has several."""
    found = {}
    for entry in CASES["cells"]:
        several = [made(**facts) for facts in entry.get("records", ())]
        records = several or [replace(made(**entry), round=number) for number in (1, 2, 3)]
        found[entry["of"]] = cell_words(EventCell("a", tuple(records))).line()
    return found


def sentences_of_events() -> Said:
    """The sentences below a table of events."""
    tables = {
        "a release loses requests": releases(),
        "a release loses requests, in unequal windows": [
            replace(one, sent=1000 + one.round, fates={**one.fates, Fate.ANSWERED: one.answered + one.round})
            for one in releases()
        ],
        "too few rounds": releases((5, 4)),
        "one round": releases((500,)),
        "nobody loses": releases((0, 0, 0)),
        "a bad day": bad_day(),
        "one has no threads left": rounds_of(
            event("gunicorn", "exhausted", "threads", lost=63),
            event("uvicorn", "exhausted", "threads"),
            event("gunicorn", "away", "database silent", lost=75),
            event("uvicorn", "away", "database silent"),
            rounds=7,
        ),
        "idle connections": [
            event(name, "idle-close", sent=960, recovered_s=None, timeline=(), extras={"idle_s": idle_s})
            for name, idle_s in (("a", 5.0), ("b", 2.0), ("c", 5.0), ("d", 0.0), ("e", 65.0), ("null", 5.0))
        ],
        "idle connections are kept": [
            event(name, "idle-close", "up to 65 s", extras={"held": 32, "watched_s": watched_s})
            for name, watched_s in (("a", 65.0), ("b", 65.0), ("c", 20.0))
        ],
        "behind a proxy, with a wait": rounds_of(
            event("a", "rolling", "behind HAProxy, pre-stop 3 s", lost=9),
            event("b", "rolling", "behind HAProxy, pre-stop 3 s"),
            rounds=7,
        ),
        "three of which two lose none": rounds_of(event("a", lost=4), event("b"), event("c"), rounds=7),
    }
    found: dict[str, list[str]] = {}
    for case, records in tables.items():
        events = events_text(records)
        found[case] = [*events.sentences, *events.advice]
        found[f"{case}: do they differ?"] = [f"{row.name}: {row.differ}" for row in events.rows]
    return found


def rounds_of(*changes: EventRecord, rounds: int = 3) -> list[EventRecord]:
    return [replace(record, round=number) for number in range(1, rounds + 1) for record in changes]


def findings_of_events() -> Said:
    """Each kind of finding, of the same records in each round if a case has rounds."""
    found = {}
    for entry in CASES["findings"]:
        records = [made(**facts) for facts in entry["records"]]
        events = events_text(rounds_of(*records, rounds=entry["rounds"]) if "rounds" in entry else records)
        found[entry["of"]] = [*events.sentences, *events.advice]
    return found


def test_what_matters_comes_first_and_the_rest_is_folded() -> None:
    """Services that never came back, the first loss of each event, growth, and last what is good to know."""
    records = [
        *(event("a", case=case, lost=5) for case in ("keep-alive", "new connections")),
        event("a", "killed", lost=2, extras={"restored_s": 9.0}),
        event("a", "hung", gone=True),
        growth(100, 1_000_000),
        *(event("a", "slow", f"case {number}", extras={"smallest_k": 4}) for number in range(9)),
        event("a", "connections", "1000 idle", extras={"kb_per_connection": 12.4}),
    ]
    events = events_text(records)
    assert len(events.findings) == MOST_SENTENCES and (*events.findings, *events.more_findings) == events.sentences
    begins = ["Never came back", "A reload of a with keep-alive", "A killed worker", "A hung worker", "Memory grows"]
    for words, begin in zip(events.findings, begins, strict=False):
        assert words.startswith(begin)
    second = next(place for place, words in enumerate(events.sentences) if "new connections" in words)
    assert second < next(place for place, words in enumerate(events.sentences) if "1000 idle" in words)


@pytest.mark.parametrize(
    "said", [cells_of_events, sentences_of_events, findings_of_events], ids=lambda said: said.__name__
)
def test_words(said: Callable[[], Said]) -> None:
    same_as(GOLDEN / f"{said.__name__}.txt", cases(said()))


def test_a_run_without_events_has_no_words_on_them() -> None:
    assert describe_events([], RunFacts()) is None


def test_the_documentation_is_said_once_for_all_services_that_have_it() -> None:
    events = events_text(bad_day())
    assert [row[:2] for row in events.documented] == [("reload", "gunicorn")]
    assert ("reload", "waitress", "Waitress has no reload (https://example.org/waitress)") in events.cannot


def test_pairs_of_packages_are_compared_and_nothing_else() -> None:
    records = [*releases(), *(event("uvicorn", round=number, lost=9) for number in range(1, 6))]
    pair = (records[0].service, records[5].service)
    assert [(one.a, one.b) for one in event_table(records, [pair]).rows[0].contrasts] == [pair]
    assert len(event_table(records).rows[0].contrasts) == 3


SLOW_AT_THE_END = event(lost=5, recovered_s=None)


def quiet_for(bins: int, failed: int) -> EventRecord:
    """Without a good answer in the last tenths of a second, and with so many failed requests in each."""
    calm, end = SLOW_AT_THE_END.timeline[:-bins], SLOW_AT_THE_END.timeline[-bins:]
    return replace(SLOW_AT_THE_END, timeline=(*calm, *(replace(one, good=0, failed=failed) for one in end)))


ENDS: dict[str, tuple[EventRecord, tuple[int, int]]] = {
    "never answered again": (event(gone=True), (1, 0)),
    "answers at the end, and not as before": (SLOW_AT_THE_END, (0, 1)),
    "the last good answer is older than a second": (quiet_for(10, failed=1), (1, 0)),
    "one answer in the last second": (quiet_for(9, failed=1), (0, 1)),
    "nothing was due in the last second": (quiet_for(9, failed=0), (0, 1)),
    "it is as before": (event(lost=5), (0, 0)),
}


@pytest.mark.parametrize("end", ENDS)
def test_gone_is_who_answers_nothing_in_the_last_second(end: str) -> None:
    record, known = ENDS[end]
    cell = EventCell(record.service, (record,))
    assert (cell.gone, cell.disturbed) == known


def test_a_service_that_takes_longer_does_not_lose_less() -> None:
    """Both lose 200 requests per reload; the one with windows twice as long only answers more other requests."""
    quick = rounds_of(event("uvicorn", sent=1000, lost=200), rounds=10)
    slow = rounds_of(event("granian", sent=2000, lost=200), rounds=10)
    (row,) = event_table([*quick, *slow]).rows
    (one,) = row.contrasts
    assert one.verdict == NO_WINNER and one.p == 1.0
    assert row.cells[one.a].counts_in(20.0) == row.cells[one.b].counts_in(20.0)
    (row,) = event_table([*quick, *(replace(record, window_s=10.0, rate=200.0) for record in slow)]).rows
    # With windows of equal length and twice as many requests, it does lose a smaller share.
    assert row.contrasts[0].verdict != NO_WINNER


def test_a_service_that_never_came_back_lost_what_a_longer_window_would_have_sent() -> None:
    """Its window ends soon after it: without those requests, it would seem to lose a smaller share than the other."""
    gone = [event("uvicorn", round=number, sent=700, gone=True) for number in (1, 2, 3)]
    slow = [event("granian", round=number, sent=2000, lost=900 + number) for number in (1, 2, 3)]
    (row,) = event_table([*gone, *slow]).rows
    (lost, sent), *_ = row.cells[gone[0].service].counts_in(20.0)
    assert (lost, sent) == (gone[0].lost + 1300, 2000)
    (one,) = row.contrasts
    assert (one.a, one.verdict) == (gone[0].service, "loses less")
