"""What the answers of tables in turns are in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from known_rankings import place, ranking, sentences_of
from turns_runs import facts_of, measured, service_of, table, told_tables

from bench.analysis.services import Coordinates
from bench.analysis.tables.observations import connections_kept
from bench.analysis.tables.ranking import Contrast, Gap, Metric, Ranking
from bench.records.record import Record
from bench.words.answers import ref_sentences
from bench.words.names import explained, labels_of, table_question
from bench.words.order import Order, factor_words, interval_words, is_factor
from bench.words.told import conclusions

FLASKS = ("gunicorn-sync", "gunicorn-gevent", "gunicorn-gthread")


def told(speeds: Mapping[str, float], places: Mapping[str, Coordinates] | None = None, **how: Any) -> tuple[str, ...]:
    return sentences_of(ranking(speeds, **how), places)


@pytest.mark.parametrize(
    ("speeds", "metric", "sentence"),
    [
        (
            {"granian": 5400, "uvicorn": 5380, "sync": 1000},
            Metric.CPU,
            "granian and uvicorn are fastest and cannot be told apart (at most 1.4 % apart);"
            " sync comes last: it needs 5.4 times as much CPU per request as granian (5.3 to 5.5).",
        ),
        (
            {"granian": 5400, "uvicorn": 4800, "sync": 1000},
            Metric.CPU,
            "granian is fastest, with the least CPU per request: uvicorn, the next, needs 12 % more (11 to 14 %);"
            " sync comes last: it needs 5.4 times as much (5.3 to 5.5).",
        ),
        (
            {"a": 5400, "b": 2000, "c": 1000},
            Metric.GOODPUT,
            "a is fastest: 2.70 times as many requests per second as b, the next (2.67 to 2.73);"
            " c comes last: a served 5.4 times as many requests per second as it (5.3 to 5.5).",
        ),
        (
            {"a": 5400, "b": 4000, "c": 1000, "d": 1001},
            Metric.GOODPUT,
            "a is fastest: 35 % more requests per second than b, the next (34 to 36 %);"
            " d and c come last: a served 5.4 times as many requests per second as c (5.3 to 5.5).",
        ),
        (
            {"a": 5400, "b": 4000, "c": 1000, "d": 1001},
            Metric.CPU,
            "a is fastest, with the least CPU per request: b, the next, needs 35 % more (34 to 36 %);"
            " d and c come last: c needs 5.4 times as much (5.3 to 5.5).",
        ),
        # b is not told from either neighbour.
        (
            {"a": 1030, "b": 1015, "c": 1000},
            Metric.CPU,
            "a leads, but b cannot be told apart from it (at most 2.5 % apart);"
            " c comes last, though b cannot be told apart from it: it needs 3.0 % more CPU per request than a"
            " (2.0 to 4.0 %).",
        ),
        (
            {"a": 1030, "b": 1015, "c": 1000},
            Metric.GOODPUT,
            "a leads, but b cannot be told apart from it (at most 2.5 % apart);"
            " c comes last, though b cannot be told apart from it: a served 3.0 % more requests per second than it"
            " (2.0 to 4.0 %).",
        ),
        ({"a": 1010, "b": 1005, "c": 1000}, Metric.CPU, "a, b and c cannot be told apart (at most 2.0 % apart)."),
        (
            dict.fromkeys("abcde", 1000.0),
            Metric.CPU,
            "These 5 services cannot be told apart (at most 1.0 % apart).",
        ),
        # Seven first ones, and one that comes last.
        (
            dict.fromkeys("abcdefg", 1000.0) | {"z": 900.0},
            Metric.CPU,
            "a, b, c, d and 3 more are fastest and cannot be told apart (at most 1.0 % apart);"
            " z comes last: it needs 11 % more CPU per request than a (10 to 12 %).",
        ),
        ({"a": 1000, "b": 1010}, Metric.CPU, "b and a cannot be told apart (at most 2.0 % apart)."),
        ({"a": 1000, "b": 1100}, Metric.CPU, "a needs 10 % more CPU per request than b (8.9 to 11 %)."),
        (
            {"a": 1000, "b": 1900},
            Metric.GOODPUT,
            "b served 1.90 times as many requests per second as a (1.88 to 1.92).",
        ),
        ({"a": 100, "b": 1900}, Metric.CPU, "a needs 19.0 times as much CPU per request as b (18.8 to 19.2)."),
    ],
)
def test_a_table_has_one_sentence_on_its_order(speeds: Mapping[str, float], metric: Metric, sentence: str) -> None:
    assert told(speeds, metric=metric) == (sentence,)


def test_the_brackets_hold_the_interval_of_the_figure_before_them() -> None:
    for metric in Metric:
        for factor in (1.03, 1.2, 1.49, 1.51, 3, 12):
            contrast = ranking({"a": 1000, "b": 1000 * factor}, metric).contrasts[0]
            gap = Gap.of(contrast, turned=False)
            back = Gap.of(
                replace(contrast, a="b", b="a", difference=1 / factor - 1, interval=turned(contrast)), turned=True
            )
            assert (back.value, back.bounds) == (pytest.approx(gap.value), pytest.approx(gap.bounds))
            low, high = (float(word) for word in interval_words(gap).removesuffix(" %").split(" to "))
            value = float(factor_words(gap).split()[0]) if is_factor(gap) else 100 * gap.value
            assert low < value < high


def turned(one: Contrast) -> tuple[float, float]:
    assert one.interval is not None
    return 1 / (1 + one.interval[1]) - 1, 1 / (1 + one.interval[0]) - 1


def test_worker_models_of_gunicorn_are_compared_with_the_synchronous_one() -> None:
    places = {name: place(name) for name in FLASKS} | {"uvicorn": place("uvicorn", "asgi")}
    speeds = {"gunicorn-sync": 1000, "gunicorn-gevent": 1900, "gunicorn-gthread": 1005, "uvicorn": 5000}
    _, *rest = told(speeds, places, metric=Metric.GOODPUT)
    assert rest == [
        "With Flask, gunicorn's gevent workers served 1.90 times as many requests per second as its sync workers"
        " (1.88 to 1.92).",
        "With Flask, gunicorn's gthread and sync workers cannot be told apart (at most 1.5 % apart).",
    ]
    slower = told(speeds | {"gunicorn-gthread": 800}, places)
    assert slower[-1] == (
        "With Flask, gunicorn's gthread workers need 25 % more CPU per request than its sync workers (24 to 26 %)."
    )
    # The table's own sentence speaks of all; the two that are interesting have theirs.
    alone = {name: speed for name, speed in speeds.items() if name != "uvicorn"}
    assert told(alone, places)[1].startswith("gunicorn's sync workers need 1.90 times as much CPU per request as its")


def test_each_question_that_some_of_the_services_raise_has_a_sentence() -> None:
    places = {
        "uvicorn-asgi": place("uvicorn", "asgi"),
        "uvicorn-starlette": place("uvicorn", "starlette"),
        "uvicorn-fastapi": place("uvicorn", "fastapi"),
        "granian-asgi": place("granian", "asgi"),
        "granian-asgi-py314": place("granian", "asgi", "3.14"),
    }
    speeds = {"uvicorn-asgi": 5000, "uvicorn-starlette": 4000, "uvicorn-fastapi": 2000, "granian-asgi": 5010}
    speeds["granian-asgi-py314"] = 5600
    _, *rest = told(speeds, places)
    assert rest == [
        "On uvicorn on Python 3.13, a bare ASGI app is fastest, with the least CPU per request: Starlette, the next,"
        " needs 25 % more (24 to 26 %); FastAPI comes last: it needs 2.50 times as much (2.48 to 2.53).",
        "With a bare ASGI app on Python 3.13, granian and uvicorn cannot be told apart (at most 1.2 % apart).",
        "With granian-asgi, Python 3.13 needs 12 % more CPU per request than Python 3.14 (11 to 13 %).",
    ]


def test_the_worker_models_come_first_with_what_they_wait_for() -> None:
    stacks = [("gunicorn-gevent", "wsgi"), ("gunicorn-gthread", "wsgi"), ("gunicorn-sync", "wsgi"), ("bjoern", "wsgi")]
    stacks += [("gunicorn-sync", "flask"), ("uvicorn", "asgi"), ("uvicorn", "fastapi")]
    places = {f"{server}-{framework}": place(server, framework) for server, framework in stacks}
    speeds = dict(zip(places, (780.0, 770.0, 52.0, 48.0, 45.0, 800.0, 799.0), strict=True))
    found = ranking(speeds, Metric.GOODPUT)
    _, *rest = sentences_of(replace(found, scenario="delay-20"), places)
    assert [words.rpartition(" (")[0] for words in rest[:2]] == [
        "With a bare WSGI app, gunicorn's gevent workers served 15.0 times as many requests per second as its sync"
        " workers",
        "With a bare WSGI app, gunicorn's gthread workers served 14.8 times as many requests per second as its sync"
        " workers",
    ]
    assert all(words.endswith("), with 20 ms to wait for.") for words in rest[:2])
    assert rest[2].startswith("On uvicorn, a bare ASGI app and FastAPI cannot be told apart")
    assert rest[3].startswith("On gunicorn-sync, a bare WSGI app served 16 % more requests per second than Flask")
    assert rest[4].startswith("With a bare WSGI app, gunicorn-gevent and gunicorn-gthread are fastest")
    assert len(rest) == 5


@pytest.mark.parametrize(
    ("kept", "workers", "words"),
    [
        (None, None, ""),
        (True, 1, ", on kept connections (which sync closes)"),
        (False, 4, ", with a new connection for each request, with 4 workers each"),
    ],
)
def test_worker_models_are_compared_under_a_condition(kept: bool | None, workers: int | None, words: str) -> None:
    # gunicorn-gevent is ahead where connections are kept, and behind where each request has a new one.
    places = {name: place(name) for name in FLASKS}
    speeds = {"gunicorn-sync": 1000, "gunicorn-gevent": 1900, "gunicorn-gthread": 1005}
    found = replace(ranking(speeds, Metric.GOODPUT), connections_kept=kept, workers=workers)
    _, *rest = sentences_of(found, places)
    assert rest and all(one.endswith(f"){words}.") for one in rest)
    refs = {name: replace(place(name), settings=f"REF={name.partition('-')[2]}") for name in FLASKS[:2]}
    (one,) = ref_sentences(found, [("gunicorn-sync", "gunicorn-gevent")], refs)
    assert one.startswith("gevent against sync") and one.endswith(f"){words}.")


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (("wrk", "-t", "1"), True),
        (("ab", "-q", "-k"), True),
        (("ab", "-q"), False),
        (("hey", "-c", "8"), True),
        (("hey", "-disable-keepalive"), False),
        (("vegeta", "attack", "-keepalive=false"), False),
        (None, None),
    ],
)
def test_the_command_says_whether_connections_are_kept(command: tuple[str, ...] | None, kept: bool | None) -> None:
    one = measured({"aiohttp": 1000}, 1)[0]
    nulls = {name: why for name, why in one.nulls.items() if name != "command" or command is None}
    record = replace(one, tool=command[0] if command else one.tool, command=command, nulls=nulls)
    assert connections_kept([record]) is kept


def test_two_worker_models_have_one_sentence() -> None:
    places = {name: place(name) for name in FLASKS[:2]}
    found = ranking({"gunicorn-sync": 34, "gunicorn-gevent": 130}, Metric.GOODPUT)
    assert sentences_of(replace(found, scenario="simple-request-0"), places) == (
        "gunicorn's gevent workers served 3.82 times as many requests per second as its sync workers (3.79 to 3.86),"
        " with an upstream to wait for.",
    )


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("json", "json"),
        ("delay-0", "delay-0"),
        ("delay-20", "delay-20 (every answer waits for 20 ms)"),
        ("simple-request-0", "simple-request-0 (every answer waits for an upstream)"),
        ("simple-request-50", "simple-request-50 (every answer waits for an upstream that takes 50 ms)"),
        ("queries-20-raw", "queries-20-raw (every answer waits for the database)"),
    ],
)
def test_a_scenario_says_what_its_answers_wait_for(scenario: str, words: str) -> None:
    assert explained(scenario) == words


def test_a_base_and_a_package_are_named_as_they_are() -> None:
    places = {
        "a": place("aiohttp", "aiohttp"),
        "b": place("aiohttp", "aiohttp", base="alpine"),
        "c": place("aiohttp", "aiohttp", package="aiohttp==3.9.5"),
    }
    _, *rest = told({"a": 1000, "b": 900, "c": 800}, places)
    assert rest == [
        "On debian, aiohttp 3.9.5 needs 25 % more CPU per request than the locked version (24 to 26 %).",
        "alpine needs 11 % more CPU per request than debian (10 to 12 %).",
    ]
    assert labels_of(["a", "c"], places) == {"a": "the locked version", "c": "aiohttp 3.9.5"}


def test_many_questions_are_cut_with_their_number() -> None:
    names = [f"{server}-{framework}" for server in "abcdefgh" for framework in "stuvwxyz"]
    places = {name: place(*name.split("-")) for name in names}
    found = told({name: 1000.0 * 1.1**i for i, name in enumerate(names)}, places)
    assert len(found) == 8
    assert found[-1] == "The answers to 10 more questions of this kind are in verdicts.jsonl."
    # Some of every kind, in their order.
    assert [words.split()[0] for words in found[1:-1]] == ["On"] * 5 + ["With"]


@pytest.mark.parametrize(
    ("places", "question", "names"),
    [
        (
            [place("uvicorn", "asgi"), place("granian", "asgi")],
            "Which server for a bare ASGI app? (Python 3.13, debian)",
            ["uvicorn", "granian"],
        ),
        ([place(name) for name in FLASKS], "Which gunicorn worker model for Flask? (Python 3.13, debian)", [*FLASKS]),
        (
            [place("uvicorn", "asgi"), place("granian", "asgi"), place("uvicorn", "starlette")],
            "Which server and framework? (Python 3.13, debian)",
            ["uvicorn-asgi", "granian-asgi", "uvicorn-starlette"],
        ),
        (
            [place("uvicorn", "asgi"), place("granian", "asgi", "3.14"), place("uvicorn", "starlette", base="alpine")],
            "Which server, framework, Python and base image?",
            [
                "uvicorn-asgi, Python 3.13, debian",
                "granian-asgi, Python 3.14, debian",
                "uvicorn-starlette, Python 3.13, alpine",
            ],
        ),
        (
            [place("uvicorn", python="3.9"), place("uvicorn", python="3.14")],
            "Which Python for uvicorn-flask? (debian)",
            ["Python 3.9", "Python 3.14"],
        ),
        ([place("uvicorn"), place("uvicorn")], "Which service?", ["s0", "s1"]),
    ],
)
def test_a_table_asks_for_what_its_services_differ_in(
    places: Sequence[Coordinates], question: str, names: Sequence[str]
) -> None:
    by_name = {f"s{number}": one for number, one in enumerate(places)}
    assert table_question([*by_name], by_name) == question
    assert [*labels_of([*by_name], by_name).values()] == names


def unsure(found: Ranking, *pairs: tuple[str, str]) -> Ranking:
    """The ranking, without a verdict on these pairs of neighbours or others."""
    wide = {"verdict": "not enough data", "interval": (-0.3, 0.2), "smallest_visible": 0.4}
    contrasts = (replace(one, **wide) if (one.a, one.b) in pairs else one for one in found.contrasts)  # type: ignore[arg-type]
    return replace(found, contrasts=tuple(contrasts))


def test_the_first_is_not_called_the_fastest_while_one_behind_the_next_may_be() -> None:
    clear = ranking({"a": 1100, "b": 1050, "c": 1000, "d": 500})
    assert sentences_of(clear)[0].startswith("a is fastest, ")
    found = unsure(clear, ("a", "c"), ("b", "c"))
    tied = "a leads, but c cannot be told apart from it (at most 43 % apart)"
    assert sentences_of(found)[0].startswith(f"{tied}; d comes last")
    # Behind both, and last.
    found = unsure(clear, ("a", "d"), ("b", "d"), ("c", "d"))
    assert sentences_of(found)[0] == "a leads, but d cannot be told apart from it (at most 43 % apart)."


def test_services_of_unknown_make_keep_their_names() -> None:
    assert labels_of(["a", "b"], {}) == {"a": "a", "b": "b"}
    assert table_question(["a", "b"], {}) == "Which service?"
    assert Order(ranking({"a": 1, "b": 2})).pair("a", "x", {"a": "a", "x": "x"}) == "a and x cannot be compared"


def test_conclusions_of_a_run_begin_with_its_tables() -> None:
    speeds = {"gunicorn-gevent-flask": 1900, "gunicorn-sync-flask": 1000, "aiohttp": 5000}
    records: list[Record] = measured(speeds, 8)
    rankings = told_tables(facts_of(table(map(service_of, speeds))), records)
    solo = [replace(one, mode="solo", id=f"solo-{one.id}") for one in records]
    (found,) = conclusions(rankings, [*solo, *records])
    assert (found.question, found.where) == ("Which server and framework? (Python 3.13, debian)", "json under wrk c16")
    assert found.decided and found.sentence.startswith("aiohttp is fastest, ")
    assert len(found.more) == 1
    assert not conclusions(told_tables(facts_of(table(["a", "b"])), []), [])[0].decided
