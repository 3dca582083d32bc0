"""Texts about a table in turns: a file in golden/ for each kind of finding, with every case."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden import Said, cases, same_as
from known_rankings import place, ranking, rungs, sentences_of, without_rank
from rated_tables import LATE, SPEEDS, TAILS_MS, late_text, noisy_ranking, p99_of, rated_ranking, rated_text
from turns_runs import facts_of, measured, ranking_text, ranking_texts, service_of, table

from bench.analysis.findings import findings_of
from bench.analysis.published import Along, Published, PublishedRatio, ReferenceGroup, Sign
from bench.analysis.services import Coordinates
from bench.analysis.tables.ranking import (
    ByLoadgen,
    Cheapest,
    Figure,
    Idles,
    LeftOut,
    Metric,
    NoFigure,
    Ranking,
    Spread,
    Throttled,
    Unranked,
)
from bench.core.exchange import Wait, WaitsFor
from bench.matrix.start_command import Waits
from bench.records.record import Cause, Record
from bench.run.facts import RefFacts, RefsFacts, RunFacts
from bench.run.reader import ServiceFacts
from bench.tools.levels import Level
from bench.words.answers import against, ref_question, ref_sentences
from bench.words.changes import change, change_of, change_words
from bench.words.conclusions import (
    Conclusion,
    RankingText,
    bias_words,
    by_question,
    cheapest_words,
    conclusions,
    credit_words,
    knee_conclusions,
)
from bench.words.latency import latency_sentences, standing
from bench.words.latency import notes as latency_notes
from bench.words.names import labels_of, question, scenario_words, setting_words, table_question
from bench.words.order import pair_words
from bench.words.remarks import (
    MOST_UNDECIDED,
    along_sentence,
    beside_words,
    lacking_words,
    limits_words,
    note_of,
    published_sentence,
    remark_words,
)

GOLDEN = Path(__file__).with_name("golden")
FLASKS = ("gunicorn-sync", "gunicorn-gevent", "gunicorn-gthread")
CPU, GOODPUT = Metric.CPU, Metric.GOODPUT
CASES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def speeds_of(kind: str) -> Iterator[tuple[str, dict[str, float], Metric]]:
    """Each case of a kind in tables.toml: its name, speeds and metric."""
    for case, found in CASES[kind].items():
        for metric, speeds in found.items():
            yield case, speeds, Metric[metric]


def order() -> Said:
    """The sentence about a whole table."""
    found = {case: sentences_of(ranking(speeds, metric)) for case, speeds, metric in speeds_of("order")}
    clear = ranking({"a": 1100, "b": 1050, "c": 1000, "d": 500})
    early = replace(clear, look=None, rounds=2)
    return found | {
        "the first may be behind one that is not the next": sentences_of(unsure(clear, "ac", "bc")),
        "the first may be behind the last": sentences_of(unsure(clear, "ad", "bd", "cd")),
        "before the first look": sentences_of(early),
        "one has no rank": sentences_of(without_rank(clear, "d", LeftOut(4, 16, "errors: some"))),
        "one alone has a rank": sentences_of(without_rank(ranking({"a": 2, "b": 1}), "b", Unranked.APART)),
        "nobody has a rank": sentences_of(replace(clear, rows=())),
        "never in one window": pair_words(ranking({"a": 1, "b": 2}), "a", "x", {"a": "a", "x": "x"}),
    }


def unsure(found: Ranking, *pairs: str) -> Ranking:
    """The ranking, without a verdict on these pairs."""
    wide: dict[str, Any] = {"verdict": "no winner", "interval": (-0.3, 0.2), "smallest_visible": 0.4}
    contrasts = (replace(one, **wide) if one.a + one.b in pairs else one for one in found.contrasts)
    return replace(found, contrasts=tuple(contrasts))


def workers() -> Said:
    """Worker models of gunicorn, each against the synchronous one."""
    flasks = {name: place(name) for name in FLASKS}
    speeds = {"gunicorn-sync": 1000.0, "gunicorn-gevent": 1900.0, "gunicorn-gthread": 1005.0}
    beside, others = speeds | {"uvicorn": 5000.0}, flasks | {"uvicorn": place("uvicorn", "asgi")}
    bare = [("gunicorn-gevent", "wsgi"), ("gunicorn-gthread", "wsgi"), ("gunicorn-sync", "wsgi"), ("bjoern", "wsgi")]
    stacks = [*bare, ("gunicorn-sync", "flask"), ("uvicorn", "asgi"), ("uvicorn", "fastapi")]
    places = {f"{server}-{framework}": place(server, framework) for server, framework in stacks}
    waiting = dict(zip(places, (780.0, 770.0, 52.0, 48.0, 45.0, 800.0, 799.0), strict=True))
    refs = {name: place(name, settings=f"REF={name.partition('-')[2]}") for name in FLASKS[:2]}
    # gunicorn-gevent is ahead with kept connections, and behind with a new connection for each request.
    found = ranking(speeds, GOODPUT)
    kept = replace(found, connections_kept=True, workers=1)
    new = replace(found, connections_kept=False, workers=4)
    two = replace(ranking({"gunicorn-sync": 34, "gunicorn-gevent": 130}, GOODPUT), wait=Wait(WaitsFor.UPSTREAM))
    long = replace(ranking(waiting, GOODPUT), wait=Wait(WaitsFor.TIMER, 20))
    return {
        "by requests": sentences_of(ranking(beside, GOODPUT), others),
        "by CPU time": sentences_of(ranking(beside | {"gunicorn-gthread": 800.0}, CPU), others),
        "nothing else in the table": sentences_of(ranking(speeds, CPU), flasks),
        "two of them": sentences_of(two, {name: place(name) for name in FLASKS[:2]}),
        "with what they wait for": sentences_of(long, places),
        "on kept connections": sentences_of(kept, flasks),
        "on new connections, several workers": sentences_of(new, flasks),
        "from two refs, on kept connections": ref_sentences(kept, [FLASKS[:2]], refs),
        "from two refs, on new connections": ref_sentences(new, [FLASKS[:2]], refs),
    }


def questions() -> Said:
    """A sentence for each question that a table's services raise."""
    stacks = [("uvicorn", "asgi"), ("uvicorn", "starlette"), ("uvicorn", "fastapi"), ("granian", "asgi")]
    five = {f"{server}-{framework}": place(server, framework) for server, framework in stacks}
    five |= {"granian-asgi-py314": place("granian", "asgi", "3.14")}
    speeds = dict(zip(five, (5000.0, 4000.0, 2000.0, 5010.0, 5600.0), strict=True))
    kinds: dict[str, dict[str, Any]] = {"a": {}, "b": {"base": "alpine"}, "c": {"package": "aiohttp==3.9.5"}}
    bases = {name: place("aiohttp", "aiohttp", **kind) for name, kind in kinds.items()}
    many = {f"{server}-{framework}": place(server, framework) for server in "abcdefgh" for framework in "stuvwxyz"}
    return {
        "framework, server and Python": sentences_of(ranking(speeds), five),
        "base and package": sentences_of(ranking({"a": 1000, "b": 900, "c": 800}), bases),
        "more than are answered": sentences_of(ranking({name: 1000.0 * 1.1**i for i, name in enumerate(many)}), many),
    }


def refs() -> Said:
    """Tables of two refs."""
    pair = {f"a-{kind}": place(f"gunicorn-{kind}", settings=f"REF={kind}") for kind in ("sync", "gevent")}
    one = {f"a-{ref}": place("aiohttp", settings=f"REF={ref}") for ref in ("main", "topic")}
    threads = {f"t-{ref}": place("tornado", settings=f"REF={ref} THREADS=2") for ref in ("main", "topic")}
    eight = {f"{ref}{n}": place(f"server{n}", settings=f"REF={ref}") for n in range(8) for ref in ("main", "topic")}

    def describe(found: Ranking, places: Mapping[str, Coordinates]) -> tuple[str, ...]:
        return ref_sentences(found, list(zip([*places][::2], [*places][1::2], strict=True)), places)

    found = ranking({"a-sync": 100, "a-gevent": 80}, GOODPUT)
    # The remaining service has a figure, but nothing to compare it with.
    lost = without_rank(without_rank(found, "a-gevent", NoFigure("build failed"), windows=0), "a-sync", Unranked.ALONE)
    base = RefFacts(ref="main", head="1" * 40)
    head = replace(base, ref="topic")
    four = ranking({"a-main": 100, "a-topic": 80, "t-main": 60, "t-topic": 50}, GOODPUT)
    return {
        "the head is faster": describe(ranking({"a-gevent": 310, "a-sync": 100}, GOODPUT), pair),
        "the head is slower": describe(ranking({"a-sync": 100, "a-gevent": 80}, CPU), pair),
        "they are not told apart": describe(ranking({"a-sync": 100, "a-gevent": 100.1}, GOODPUT), pair),
        "one stack": describe(ranking({"a-main": 100, "a-topic": 80}, GOODPUT), one),
        "several stacks": describe(four, one | threads),
        "more pairs than are told": describe(ranking(dict.fromkeys(eight, 100.0), GOODPUT), eight),
        "a side without a figure": describe(lost, pair),
        "sides that were never in one window": describe(without_rank(found, "a-sync", Unranked.APART), pair),
        "before the first look": describe(replace(found, look=None, rounds=2), pair),
        "no pair in the table": ref_sentences(found, [("x", "y")], pair),
        "labels": [*labels_of([*pair], pair).values(), *labels_of([*one], one).values()],
        "question": ref_question([("a-sync", "a-gevent")], pair),
        "question of no pair": ref_question([("x", "y")], pair),
        "against": against(RefsFacts(base=base, head=head)),
        "against, changes not committed": against(RefsFacts(base=base, head=replace(base, dirty=True))),
        "against, without refs": against(None),
    }


def swept(speeds: Mapping[str, float], metric: Metric = GOODPUT) -> tuple[str, ...]:
    return sentences_of(ranking(speeds, metric), settings_of(*speeds))


def test_extra_flags_are_named_as_they_are_written() -> None:
    places = {
        "plain": place("uvicorn", "asgi", settings="FLAGS=none"),
        "h11": place("uvicorn", "asgi", settings="FLAGS='--http h11'"),
        "other": place("hypercorn", "asgi"),
    }
    assert labels_of(["plain", "h11"], places) == {"plain": "no extra flags", "h11": "--http h11"}
    assert table_question(["plain", "h11"], places) == "Which flags for uvicorn-asgi? (Python 3.13, debian)"
    labels = {"plain": "uvicorn with no extra flags", "h11": "uvicorn with --http h11", "other": "hypercorn"}
    assert labels_of([*places], places) == labels


def settings_of(*texts: str) -> dict[str, Coordinates]:
    """Services of one stack, named after their settings."""
    return {text: place("gunicorn-gthread", settings=text) for text in texts}


def sweeps() -> Said:
    """A knob over its values, and what this machine cannot show."""
    product = {f"WORKERS={w} THREADS={t}": 100.0 * w * t for w in (1, 2) for t in (2, 4)}

    # Threads only wait, so only their number matters; gunicorn's sync workers have one each.
    knobs = settings_of(*product) | {f"WORKERS={w}": place("gunicorn-sync", settings=f"WORKERS={w}") for w in (1, 2)}
    speeds = {name: 10.0 * int(name[-1]) + len(name) / 100 for name in knobs}
    waiting = ranking(speeds, GOODPUT)
    memory = {name: 60_000_000 * int(name[8]) for name in knobs}
    rows = tuple(replace(row, memory_loaded_bytes=memory[row.service]) for row in waiting.rows)
    waiting = replace(waiting, rows=rows)

    def limits(cpus: str | None, *texts: str) -> list[str]:
        places = settings_of(*texts)
        return [*limits_words(places, [*places], {} if cpus is None else {"SERVER_CPUS": cpus})]

    return {case: swept(speeds, metric) for case, speeds, metric in speeds_of("sweeps")} | {
        "a product of two knobs": swept(product),
        "a product of two knobs, and a server that has one": sentences_of(waiting, knobs),
        "a product of two knobs by CPU time": swept(product, CPU),
        "one CPU": limits("0", "WORKERS=1", "WORKERS=2"),
        "four CPUs": limits("0-3", "WORKERS=1", "WORKERS=2"),
        "one CPU, and neither workers nor threads": limits("0", "KEEPALIVE=1", "KEEPALIVE=2"),
        "a quota of the whole CPU": limits("1", "CPU_QUOTA=0.5", "CPU_QUOTA=1"),
        "unknown CPUs": limits(None, "CPU_QUOTA=0.5", "CPU_QUOTA=1"),
    }


def ladders() -> Said:
    """Releases of one package."""
    found, places = rungs({"1": 100, "2": 100.1, "3": 200})
    contrasts = tuple(replace(one, verdict="no winner") if one.b == "2" else one for one in found.contrasts)
    return {case: sentences_of(*rungs(speeds, metric)) for case, speeds, metric in speeds_of("ladders")} | {
        "a step without a verdict": sentences_of(replace(found, contrasts=contrasts), places),
    }


def published() -> Said:
    """Published ratios next to those of a table."""
    labels = {name: name for name in "abc"}
    row = PublishedRatio("a", 0.75, 0.7, None, Sign.SAME)
    other = replace(row, service="c", published=0.0512, here=None, sign=Sign.OPPOSITE)

    def describe(*rows: PublishedRatio) -> str:
        return published_sentence(Published("b", "c16", rows), labels)

    group = ReferenceGroup(of="aiohttp 3.6", level=Level.read("c32"), figures=())
    there = (("Python 3.7", 1.0), ("Python 3.8", 1.2))
    versions = (("aiohttp==3.13.5", 1.0), ("aiohttp==3.14.5", None))
    return {
        "one service": describe(row),
        "each sign": [describe(replace(row, sign=sign)) for sign in Sign],
        "several of the same sign": describe(row, replace(row, service="c")),
        "several signs": describe(row, other),
        "along Pythons": along_sentence(Along("python", group, there, (("3.9", 1.0), ("3.11", 1.3)), versions[0][0])),
        "along packages": along_sentence(Along("package", group, there, versions, "3.9")),
    }


def names() -> Said:
    """Names of scenarios, settings and services, and a table's question."""
    scenarios = ("json", "delay-0", "delay-20", "simple-request-0", "simple-request-50", "queries-20-raw")
    uvicorn, granian, starlette = place("uvicorn", "asgi"), place("granian", "asgi"), place("uvicorn", "starlette")
    threads = [*settings_of("THREADS=1", "THREADS=8").values()]
    tables = {
        "servers": [uvicorn, granian],
        "worker models": [place(name) for name in FLASKS],
        "stacks": [uvicorn, granian, starlette],
        "all of it": [uvicorn, replace(granian, python="3.14"), replace(starlette, base="alpine")],
        "Pythons": [place("uvicorn", python="3.9"), place("uvicorn", python="3.14")],
        "one package": [place("aiohttp", "aiohttp"), place("aiohttp", "aiohttp", package="aiohttp==3.9.5")],
        "nothing": [place("uvicorn"), place("uvicorn")],
        "threads": threads,
        "quotas": [*settings_of("CPU_QUOTA=0.5", "CPU_QUOTA=1").values()],
        "threads with workers": [*settings_of("WORKERS=2 THREADS=1", "WORKERS=2 THREADS=8").values()],
        "threads and workers": [*settings_of("WORKERS=1 THREADS=1", "WORKERS=2 THREADS=8").values()],
        "threads and servers": [*threads, place("waitress", settings="THREADS=8")],
    }
    found: dict[str, list[str]] = {"scenarios": [scenario_words(name, RunFacts().wait_of(name)) for name in scenarios]}
    found["settings"] = [setting_words({"CPU_QUOTA": "0.5", "MEMORY": "256m", "MY_FLAG": "on"})]
    for what, places in tables.items():
        by_name = {f"s{number}": one for number, one in enumerate(places)}
        found[f"a table of {what}"] = [table_question([*by_name], by_name), *labels_of([*by_name], by_name).values()]
    found["a table of unknown make"] = [table_question(["a", "b"], {}), *labels_of(["a", "b"], {}).values()]
    return found


def remarks() -> Said:
    """Each kind of remark on a service, and what intervals include besides chance."""
    limited = "wrk's CPUs were 99 % busy"
    found = {
        "alone": Unranked.ALONE,
        "apart": Unranked.APART,
        "no figure for a cause": NoFigure(Cause("errors", "40 of 400 got 500")),
        "not measured": NoFigure("build failed: no wheel"),
        "not measured, and not known why": NoFigure(""),
        "too few responses": NoFigure(None),
        "windows left out": LeftOut(4, 16, "errors"),
        "a lower bound": ByLoadgen(2, 6, limited),
        "idle, and how long a response takes": Idles(0.12, 0.02),
        "idle": Idles(0.12, None),
        "idle, or kept from running": Idles(0.33, None, 0.6),
        "uneven workers": Spread((0.8, 0.15, 0.05)),
        "throttled": Throttled(1.25),
        "never throttled": Throttled(0.0),
        "throttling unknown": Throttled(None, "no such counter"),
    }
    row = replace(ranking({"a": 1}).rows[0], remarks=(Unranked.ALONE, Throttled(0.0)))
    idle = replace(row, remarks=(Idles(0.12, 0.034),))
    stalls = {"development": "its docs", "adds": "a Server header", "stall": "it writes twice (its code)"}
    pool = {"default": "512 threads", "sets": "up to 4,096 connections, not 100"}
    three = ranking({"a": 3, "b": 2, "c": 1})
    three = replace(three, rows=tuple(replace(one, cpu_us=Figure(12.5, 12.5, 12.5)) for one in three.rows))
    names = {"a": "granian", "b": "uvicorn", "c": "hypercorn"}
    return {case: remark_words(remark) for case, remark in found.items()} | {
        "two remarks": note_of(row),
        "a development server that stalls, and what is added to it": note_of(idle, None, stalls),
        "a pool of threads beside its default, and a setting": note_of(idle, Waits(4, 64, threads=True), pool),
        "without a pool": note_of(idle, Waits(4, 1), {"default": "1 request"}),
        "no limit": note_of(idle, Waits(4, None), {"default": "connections"}),
        "the cheapest": cheapest_words(three, Cheapest(("a",), 12.5, 12.5), {"a": "granian"}),
        "two that are cheapest": cheapest_words(three, Cheapest(("a", "b"), 12.5, 13.1), names),
        "all are alike": cheapest_words(three, Cheapest(("a", "b", "c"), 12.5, 13.1), names),
        "the bias of turns": bias_words(replace(three, bias=0.0132)),
        "the bias of turns was not measured": bias_words(three),
        "at a rate there are no turns": bias_words(replace(three, rate=500.0)),
        "what services that idle may have lost": credit_words(0.04),
        "next to nothing lost": credit_words(0.004),
    }


def aside() -> Said:
    """Servers whose figures have a known cause lead no sentence of their table."""
    speeds = {"bjoern-wsgi": 9000, "uvicorn-asgi": 3000, "cherrypy": 1000, "tornado": 475, "aiohttp": 60}

    def describe(*stacks: str, **caveats: Mapping[str, Any]) -> list[str]:
        names = {service_of(stack): stack for stack in stacks or speeds}
        services = {name: caveats.get(stack, {}) for name, stack in names.items()}
        facts = facts_of(table([*names], 12, waits=True), services=services)
        (found,) = ranking_texts(facts, measured({stack: speeds[stack] for stack in names.values()}, 8))
        return [*found.sentences, *(f"{name}: {note}" for name, note in found.notes.items() if note)]

    development, stall = {"development": "its docs"}, {"notes": {"stall": "it writes twice (its code)"}}
    return {
        "nothing is known": describe(),
        "development servers": describe(tornado=development, aiohttp=development),
        "a development server, and one that stalls": describe(tornado=stall, aiohttp=development),
        "one that is both": describe(tornado=development | stall),
        "too few others": describe("bjoern-wsgi", "tornado", tornado=stall),
    }


def undecided() -> Said:
    """Pairs without a detected difference, except those with the best, which are in the rows."""
    speeds = {"uvicorn-asgi": 5400, "aiohttp": 5390, "tornado": 5380, "bjoern-wsgi": 5370, "cherrypy": 1000}
    text = ranking_text(speeds, 8)
    found = text.ranking
    contrasts = tuple(replace(one, smallest_visible=0.02 + 0.001 * n) for n, one in enumerate(found.contrasts))
    many = replace(found, contrasts=contrasts * 4)
    return {
        "a few": text.beside,
        "many": [*beside_words(many, text.name)],
        "before the first look": [*beside_words(replace(many, look=None), text.name)],
    }


def latency() -> Said:
    """Latency at a common rate."""
    labels = {service_of(stack): stack for stack in SPEEDS}
    left = {service_of("tornado"): "left out: 49 requests/s would drag it down"}

    def describe(*how: Any, **named: Any) -> list[str]:
        return lines_of(rated_ranking(*how, **named))

    def lines_of(ranking: Ranking) -> list[str]:
        (found,) = ranking.latencies
        return [*latency_sentences(found, labels), *(f"note: {words}" for words in latency_notes(found, labels))]

    alike = dict.fromkeys(SPEEDS, (1.0, 3.0))
    return {
        "two are lowest": describe(),
        "one is lowest": describe(TAILS_MS | {"aiohttp": (0.9, 4.5)}),
        "one is too noisy to tell": lines_of(noisy_ranking()),
        "all are tied": describe(alike),
        "two services": describe({stack: TAILS_MS[stack] for stack in ("aiohttp", "gunicorn-sync-flask")}),
        "one service": describe({"aiohttp": TAILS_MS["aiohttp"]}),
        "p99.9 too": describe(requests=10_001),
        "too few requests for p99": describe(requests=800),
        "too few rounds": describe(rounds=[2, 3]),
        "the load tool is the limit": describe(rates={"capped": ("share50",)}),
        "a service is left out": describe(rates={"left_out": left}),
        "one was loaded too late": late_text().sentences,
        "all were loaded too late": describe(causes=LATE, behind_ms=0.2),
        "p99 was too late, p50 was not": describe(moved=(1.0, 1.5), behind_ms=0.2),
        "no rate": describe(rates={"rates": {}, "reason": "what vegeta can send is not known"}),
        "standing": [standing(p99_of(rated_ranking()), name) or "neither" for name in (*labels, "unknown")],
        "the slowest has no name": describe(rates={"slowest": None}, services={"gunicorn-sync-flask": 1, "aiohttp": 2}),
        "changes": [
            change(metric, 1 / ratio - 1, (1 / (1.1 * ratio) - 1, 1 / (0.9 * ratio) - 1)).verb()
            for metric in (Metric.P50, Metric.P99)
            for ratio in (0.6, 1.4, 4.7)
        ],
        "which the table's sentences have": rated_text().sentences,
    }


def test_a_package_that_one_python_lacks_is_no_difference_of_pythons() -> None:
    places = {"a313": place("aiohttp", "aiohttp"), "a315": place("aiohttp", "aiohttp", "3.15"), "b": place("bjoern")}
    have = {"a313": {"aiohttp": "3.14.5", "orjson": "3.13.0"}, "a315": {"aiohttp": "3.14.5"}, "b": {"bjoern": "3.2"}}
    services = {name: ServiceFacts(name=name, packages=packages) for name, packages in have.items()}
    labels = {"a313": "Python 3.13", "a315": "Python 3.15", "b": "bjoern"}
    assert [*lacking_words(labels, places, services)] == [
        "Python 3.15 runs without orjson, so not all of the difference from other Pythons is Python's."
    ]
    assert not [*lacking_words(labels, places, services | {"a315": services["a313"]})]
    assert not [*lacking_words(labels, places, {})]


def pairs() -> Said:
    """The difference between two services, as a question."""
    places = {name: place(**facts) for name, facts in CASES["places"].items()}
    asked = (
        *("sync gevent", "sync bjoern", "uvicorn h11", "sync bottle", "sync sync314", "sync musl"),
        *("aiohttp1 aiohttp314", "aiohttp1 aiohttp2", "bjoern bottle", "musl sync314"),
        *("threads1 threads8", "threads8 waitress8", "threads1 waitress8", "sync unknown"),
    )
    found = {names: question(*names.split(), places).words for names in asked}
    assert found == {names: question(*names.split()[::-1], places).words for names in asked}
    return found


def conclusions_of_a_run() -> Said:
    """The sentences at the top of a report."""
    speeds = {"gunicorn-gevent-flask": 1900, "gunicorn-sync-flask": 1000, "aiohttp": 5000}
    records: list[Record] = measured(speeds, 8)
    rankings = ranking_texts(facts_of(table(map(service_of, speeds))), records)
    alone = [replace(one, mode="solo", id=f"solo-{one.id}") for one in records]
    stacks = [{"service": f"s{n}", "framework": f"f{n // 2}", "python": f"3.{n % 2}"} for n in range(40)]
    many = [replace(alone[0], id=f"solo-{n}", **names) for n, names in enumerate(stacks)]  # type: ignore[arg-type]

    def describe(tables: Sequence[RankingText], records: Sequence[Record]) -> list[str]:
        findings = findings_of(records, RunFacts())
        return [
            " | ".join(["decided" if one.decided else "open", one.question, one.where, one.sentence, *one.more])
            for one in conclusions(tables, findings, knee_conclusions(findings))
        ]

    return {
        "tables": describe(rankings, [*alone, *records]),
        "a table without a record": describe(ranking_texts(facts_of(table(["a", "b"])), []), []),
        "measured alone": describe([], alone),
        "one service alone": describe([], alone[:1]),
        "more questions than are listed": describe([], many),
        "no record": describe([], []),
    }


KINDS = [order, workers, questions, refs, sweeps, ladders, published, names, remarks, aside, undecided, latency, pairs]


@pytest.mark.parametrize("kind", [*KINDS, conclusions_of_a_run], ids=lambda kind: kind.__name__)
def test_words(kind: Callable[[], Said]) -> None:
    same_as(GOLDEN / f"{kind.__name__}.txt", cases(kind()))


def test_the_brackets_hold_the_interval_of_the_figure_before_them() -> None:
    for factor in (1.03, 1.2, 1.49, 1.51, 3, 12):
        (gap,) = ranking({"a": 1000, "b": 1000 * factor}).contrasts
        assert gap.turned.turned.difference == pytest.approx(gap.difference)
        assert gap.turned.turned.interval == pytest.approx(gap.interval)
        for metric, one in ((GOODPUT, gap), (GOODPUT, gap.turned), (CPU, gap), (CPU, gap.turned)):
            found = change_of(metric, one)
            low, high = (float(word.replace(",", "")) for word in found.interval().removesuffix(" %").split(" to "))
            value = found.ratio if found.is_factor() else abs(100 * (found.ratio - 1))
            assert low - 0.5 < value < high + 0.5


def test_a_change_has_one_direction_and_one_size_in_every_text() -> None:
    """The direction is that of the metric: a slower service needs more CPU per request, or serves fewer requests/s."""
    (gap,) = ranking({"a": 1930, "b": 1000}).contrasts
    said = {metric: (change_words(metric, gap), change_of(metric, gap).signed()) for metric in (CPU, GOODPUT)}
    more, fewer = said[CPU], said[GOODPUT]
    assert gap.verdict == "slower"
    assert more[0].startswith("needs 93 % more CPU per request (") and more[1] == "+93 %"
    assert fewer[0].startswith("served 48 % fewer requests per second (") and fewer[1] == "-48 %"


@pytest.mark.parametrize(
    ("difference", "signed"),
    [(0.0, "0 %"), (-0.00004, "0 %"), (0.004, "+0.4 %"), (0.0996, "+10 %"), (11.34, "+1,134 %"), (-0.9934, "-99.3 %")],
)
def test_signs_and_digits_of_a_change(difference: float, signed: str) -> None:
    assert change(GOODPUT, difference, None).column() == signed


def test_undecided_pairs_are_those_that_no_row_has() -> None:
    text = ranking_text({"uvicorn-asgi": 5400, "aiohttp": 5390, "tornado": 5380, "cherrypy": 1000}, 8)
    best = text.ranking.rows[0].service
    open_ones = [one for one in text.ranking.contrasts if one.smallest_visible is not None]
    assert len(text.beside) == sum(best not in (one.a, one.b) for one in open_ones) < MOST_UNDECIDED
    in_rows = {row.service for row in text.ranking.rows if row.smallest_visible is not None}
    assert in_rows == {name for one in open_ones for name in (one.a, one.b)} - {best}


def test_conclusions_are_grouped_by_question() -> None:
    found = [Conclusion(asked, where, "a is faster.", True) for where in "xy" for asked in ("Which?", "How many?")]
    assert by_question(found) == (("Which?", (found[0], found[2])), ("How many?", (found[1], found[3])))
