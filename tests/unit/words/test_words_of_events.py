"""Texts about events: a file in golden/ for each kind of finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from event_runs import bad_day, cannot, event, releases, services_of
from golden import Said, cases, same_as

from bench.analysis.events import EventCell, event_table
from bench.records.event import Ended, EventRecord, Fate, GrowthSample
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


def cells_of_events() -> Said:
    """Cells as text."""
    rounds = (1, 2, 3)
    alike: dict[str, EventRecord] = {
        "nothing lost": event(sent=12_400),
        "some lost": event(lost=5),
        "an outage without a loss": event(gap_s=2.1),
        "a gap that is none": event(gap_s=0.4),
        "never came back": event(gone=True),
        "back, and not as before": event(lost=5, recovered_s=None),
        "stopped: it is not asked to come back": of(
            "stop",
            extras={
                **{"long_fate": "answered", "under_way": 7, "under_way_lost": 1, "idle": 16, "idle_closed": 16},
                **{"idle_closed_s": 0.11, "still_answered": 6, "told_to_close": 5},
            },
            sent=400,
            exit_s=1.2,
            recovered_s=None,
        ),
        "stopped, and cut": of("stop", extras={"long_fate": "cut_short"}, sent=400, lost=3, exit_s=10.0),
        "a worker that was replaced": of("killed", extras={"started_s": 0.02, "restored_s": 0.31}, lost=1),
        "a worker that has started, and no request shows when it answers": of(
            "killed", extras={"started_s": 0.02, "restored_s": None}, lost=1
        ),
        "a worker that was not": of("hung", lost=90, recovered_s=None),
        "overloaded": of(
            "overload",
            extras={
                **{"rate_2_1.5x": 500.0, "rate_3_3x": 1000.0, "goodput_3_3x": 40.0, "rate_4_0.5x": 170.0},
                **{"cpu_unanswered": 0.93},
            },
            lost=480,
            recovered_s=12.0,
        ),
        "memory that grows": growth(100, 1_000_000),
        "memory that may still fill": growth(100, 1_000_000, parts_s=10.1),
        "memory that may still fill, with few requests": growth(100, 200_000),
        "memory that does not": growth(0, 240_000),
        "memory of which too little is known": growth(40, 20_000, noise=800_000),
        "large bodies that are given back": growth(
            0, 240_000, bodies=96, bodies_answered=96, grown_bytes=81_000_000, kept_bytes=2_300_000
        ),
        "large bodies of which all is kept": growth(
            0, 240_000, bodies=96, bodies_answered=96, grown_bytes=15_700_000, kept_bytes=16_400_000
        ),
        "large bodies that are not taken": growth(
            0, 240_000, bodies=32, bodies_answered=0, grown_bytes=1_000_000, kept_bytes=-4
        ),
        "files that stay open": reloads(2),
        "files that do not": reloads(0),
        "uneven shares, and what they cost": balance((45, 6, 7, 6), p99_s=0.24, even_p99_s=0.11, even_worst_share=0.26),
        "shares of few connections": balance((5, 1, 1, 1), p99_s=0.24, even_p99_s=0.21, even_worst_share=0.27),
        "shares that cannot be made even": balance((16, 16, 16, 16), p99_s=0.2, even_p99_s=0.2, even_worst_share=0.9),
        "shares of new connections": balance((250, 260, 240, 250), p99_s=0.02),
        "one worker": balance((64,), p99_s=0.02),
        "workers that do not tell themselves": of("balance", "8 pooled", extras={"workers": None}),
        "rolled": of(
            "rolling", "behind HAProxy, pre-stop 3 s", extras={"swap_1_s": 1.2, "swap_2_s": 1.9, "killed_1": False}
        ),
        "rolled, with causes": of(
            "rolling",
            "behind nginx",
            extras={
                **{"swap_1_s": 11.2, "swap_2_s": 1.0, "killed_1": True, "killed_2": False, "server_503": 2},
                **{"proxy_502": 957, "proxy_502_no_container": 950, "proxy_502_reset": 7},
                **{"cause_no_container": 957, "cause_reset": 7},
            },
            lost=957,
            sent=1359,
            fate=Fate.OTHER_STATUS,
        ),
        "idle connections are closed": of(
            "idle-close",
            extras={"idle_s": 5.0, "idle_least_s": 5.0, "idle_most_s": 5.02, "lost_to_ms": 20.6, "held": 0},
            sent=960,
            lost=181,
            recovered_s=None,
            timeline=(),
        ),
        "idle connections are closed, and a request just before is lost": of(
            "idle-close", extras={"idle_s": 5.0, "lost_to_ms": -7.0}, sent=960, lost=1, timeline=()
        ),
        "idle connections are kept": of("idle-close", extras={"held": 32, "watched_s": 20.0}, sent=32, timeline=()),
        "nothing is kept": of("idle-close", extras={"idle_s": 0.001, "held": 0}, sent=32, timeline=()),
        "recycled": of("recycle", "every 1000", extras={"recycled": 7}),
        "many connections": of(
            "connections",
            "1000 idle",
            extras={"kb_per_connection": 12.41, "most_k": 1000, "opened": 1000, "cut": 40, "cut_after_s": 5.0},
        ),
        "idle connections beyond a server's limit": of(
            "connections", "5000 idle", extras={"most_k": 5000, "opened": 5000, "slow_answered": 2048}
        ),
        "slow clients are cut": of(
            "slow",
            "silent",
            extras={
                "cut_after_s": 30.0,
                "cut": 250,
                "cut_status": 408,
                "opened": 256,
                "most_k": 256,
                "p99_beside_s": 0.012,
                "p99_beside_k": 256,
            },
        ),
        "slow readers use up its memory": of(
            "slow", "10 MB read a KB a second", extras={"most_k": 256, "oom_kills": 2}
        ),
        "slow clients stop it": of("slow", "silent", extras={"smallest_k": 4, "most_k": 256}),
        "health checks fail": of(
            "exhausted",
            "threads",
            extras={
                **{"failing_k": 40, "most_waiting": 80, "places": 40, "longest_wait_s": 3.05},
                **{"needs_sent": 200, "needs_lost": 0},
            },
            lost=63,
        ),
        "health checks pass, and connections are left in use": of(
            "exhausted",
            "database pool",
            extras={
                **{"failing_k": None, "most_waiting": 50, "places": 5, "longest_wait_s": 1.6},
                **{"needs_sent": 81, "needs_lost": 7, "connections_most": 5, "connections_used_after": 2},
            },
        ),
        "away, and soon back": of(
            "away",
            "database stopped",
            extras={"needs_meanwhile": 110, "needs_lost_meanwhile": 101, "needs_lost_after": 3, "again_s": 0.01},
        ),
        "away, and back later": of(
            "away",
            "upstream stopped",
            extras={"needs_meanwhile": 110, "needs_lost_meanwhile": 101, "needs_lost_after": 40, "again_s": 2.0},
        ),
        "away, and never back": of(
            "away",
            "upstream silent",
            extras={"needs_meanwhile": 110, "needs_lost_meanwhile": 110, "needs_lost_after": 120, "again_s": None},
            lost=75,
        ),
        "cannot": cannot("waitress", "reload", "", "Waitress has no reload (https://example.org)"),
        "did not start": event(ended=Ended.FAILED, detail="it did not start", sent=None, fates={}, timeline=()),
        "did not happen": event(happened=False, happened_by="the workers have the same pids"),
        "a starved client": event(causes=("the client sent 30 ms late (p99)",)),
        "of some requests nothing is known": event(sent=1000, unaccounted="7 results were not read", fates={}),
    }
    found: dict[str, str] = {
        case: cell_words(EventCell("a", tuple(replace(record, round=round) for round in rounds))).line()
        for case, record in alike.items()
    }
    some = {
        "gone in one round": (event(), event(gone=True), event()),
        "one round did not happen": (event(lost=1), event(happened=False, happened_by="the same pids")),
        "exits differ": tuple(event("a", "stop", exit_s=float(number)) for number in rounds),
    }
    return found | {case: cell_words(EventCell("a", records)).line() for case, records in some.items()}


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
    """Each kind of finding, for services a, b and c with the same records in three rounds."""

    def beside(name: str, case: str, *extras: dict[str, Any], **more: Any) -> list[EventRecord]:
        return rounds_of(
            *(event(one, name, case, extras=own, **more) for one, own in zip("abcd", extras, strict=False))
        )

    grown = {letter: growth(bytes_each, 1_000_000) for letter, bytes_each in zip("abc", (100, 0, 25), strict=True)}
    many, few = (16, 2, 2, 2), (5, 6, 5, 6)
    tables: dict[str, list[EventRecord]] = {
        "two lose more than a third": rounds_of(
            event("a", lost=5), event("b", lost=5), event("c", sent=1010), rounds=9
        ),
        "alone": rounds_of(event("a", lost=5)),
        "alone, in unequal windows": [event("a", round=1, lost=5), event("a", round=2, sent=600)],
        "alone, in nearly equal windows": [event("a", round=1, lost=5), event("a", round=2, lost=2, sent=1040)],
        "no winner": rounds_of(event("a", lost=5), event("b", lost=2), event("c")),
        "many lose": rounds_of(
            *(
                event(name, "rolling", "behind nginx", lost=lost)
                for name, lost in zip("abcdefgh", (300, 310, 320, 330, 340, 0, 0, 0), strict=True)
            ),
            rounds=1,
        ),
        "few are lost, and whose are more is open": rounds_of(
            event("a", "hung", lost=1, extras={"restored_s": 31.0}), event("b", "hung", extras={})
        ),
        "the null server loses some too": rounds_of(event("a", lost=5), event("null", lost=1)),
        "a pre-stop wait helps": rounds_of(
            event("a", "rolling", "behind nginx", lost=300),
            event("b", "rolling", "behind nginx", lost=200),
            event("a", "rolling", "behind nginx, pre-stop 3 s"),
            event("b", "rolling", "behind nginx, pre-stop 3 s"),
        ),
        "a pre-stop wait is not shown to help": [
            event("a", "rolling", "behind HAProxy", lost=2),
            event("a", "rolling", "behind HAProxy, pre-stop 3 s"),
        ],
        "recycling costs": rounds_of(
            event("a", "recycle", "every 1000", lost=3), event("a", "recycle", "never"), rounds=5
        ),
        "recycling makes it slower": rounds_of(
            event("a", "recycle", "every 1000", p99_around_s=1.2),
            event("a", "recycle", "never", p99_around_s=0.004),
            event("b", "recycle", "every 1000", p99_around_s=0.008),
            event("b", "recycle", "never", p99_around_s=0.004),
            event("c", "recycle", "every 1000", p99_around_s=2.5),
        ),
        "nobody answers for a while, and for longer with a boot": rounds_of(
            event("a", gap_s=1.6),
            event("b", gap_s=1.0),
            event("a", case="keep-alive, boot 5 s", gap_s=6.3),
            event("b", case="new connections, boot 5 s", gap_s=7.0),
        ),
        "nobody answers for a while": rounds_of(event("a", gap_s=2.1), event("b", gap_s=1.0), event("c")),
        "what is under way is cut": rounds_of(
            event("a", "stop", exit_s=0.2, extras={"long_fate": "reset"}),
            event("b", "stop", exit_s=5.1, extras={"long_fate": "answered"}),
            event("c", "stop", exit_s=31.0, extras={"long_fate": "answered"}),
        ),
        "it does not stop": rounds_of(event("a", "stop", exit_s=None, extras={"long_fate": "answered"})),
        "workers": beside("killed", "", {"restored_s": 0.3}, {"restored_s": 31.0}, {}, {"started_s": 0.1}),
        "a worker that is not replaced once": [
            event("a", "hung", round=number, extras={"restored_s": restored_s})
            for number, restored_s in ((1, 0.2), (2, None))
        ],
        "the whole server ends": rounds_of(event("a", "killed", gone=True, extras={"ended_s": 0.2})),
        "the whole server ends once": [
            event("a", "killed", round=1, gone=True, extras={"ended_s": 0.2}),
            event("a", "killed", round=2, extras={"restored_s": 0.2}),
        ],
        "a reload ends it": rounds_of(event("a", gone=True, extras={"ended_s": 0.2})),
        "never came back from several": rounds_of(
            event("a", "killed", gone=True), event("a", "hung", gone=True), event("b", "hung")
        ),
        "overloaded, and no answer by the end": rounds_of(event("a", "overload", gone=True), event("b", "overload")),
        "overloaded": beside(
            "overload",
            "",
            *(
                {"rate_1_0.5x": 50.0, "rate_2_3x": 999.0, "goodput_2_3x": good, "capacity": 333.0}
                for good in (40.0, 300.0)
            ),
            lost=480,
            recovered_s=12.0,
        ),
        "not as before after an overload with its own backlog": rounds_of(
            event("a", "overload", "20 s, own backlog", lost=480, recovered_s=None)
        ),
        "not as before after an overload": rounds_of(event("a", "overload", lost=480, recovered_s=None)),
        "slow clients": beside(
            "slow",
            "silent",
            {"smallest_k": 4, "most_k": 256},
            {"smallest_k": None, "most_k": 256, "cut_after_s": 30.0},
            {"smallest_k": 4, "most_k": 256},
        ),
        "slow clients that stop nobody": beside("slow", "silent", {"most_k": 256}, {"most_k": 256}),
        "connections": [
            one
            for count in (1000, 5000)
            for one in beside(
                "connections",
                f"{count} idle",
                {"kb_per_connection": 12.41, "opened": count, "slow_refused": 0},
                {"kb_per_connection": 250.0, "opened": count, "slow_refused": count // 50},
            )
        ],
        "memory": rounds_of(*(replace(record, service=letter) for letter, record in grown.items())),
        "memory of one round": [growth(100, 1_000_000)],
        "memory of which too little is known": rounds_of(growth(40, 20_000, noise=800_000)),
        "files, and requests that are lost": rounds_of(
            replace(reloads(0), fates={Fate.ANSWERED: 900, Fate.RESET: 100}, longest_gap_s=25.1)
        ),
        "files": rounds_of(replace(reloads(2), service="a"), replace(reloads(0), service="b")),
        "uneven shares": rounds_of(
            *(
                replace(balance(shares, p99_s=0.24, even_p99_s=even, even_worst_share=0.26), service=letter)
                for letter, shares, even in zip("abc", (many, few, many), (0.11, 0.2, 0.12), strict=True)
            )
        ),
        "uneven shares that cost nothing, and some that could not be made even": rounds_of(
            event("a", lost=5),
            replace(balance(many, p99_s=0.2, even_p99_s=0.3, even_worst_share=0.26), service="a"),
            replace(balance(many, p99_s=0.2, even_p99_s=0.1, even_worst_share=0.9), service="b"),
        ),
        "uneven shares, whose cost is not known": rounds_of(balance(many, p99_s=0.24)),
        "health checks": beside(
            "exhausted",
            "threads",
            {"failing_k": 40, "most_waiting": 80},
            {"failing_k": 4, "most_waiting": 8},
            {"failing_k": None, "most_waiting": 80},
        ),
        "connections that are left": beside(
            "exhausted",
            "database pool",
            {"failing_k": None, "most_waiting": 50, "connections_most": 5, "connections_used_after": 2},
        ),
        "away": beside(
            "away",
            "upstream stopped",
            {"needs_meanwhile": 110, "again_s": 0.01},
            {"needs_meanwhile": 110, "again_s": 2.0},
            {"needs_meanwhile": 110, "again_s": None},
        ),
        "it did not happen": rounds_of(
            event("a", happened=False, happened_by="0 of 4 were replaced"),
            event("a", case="new connections", happened=False, happened_by="0 of 4 were replaced"),
        ),
    }
    found: dict[str, list[str]] = {}
    for case, records in tables.items():
        events = events_text(records)
        found[case] = [*events.sentences, *events.advice]
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
