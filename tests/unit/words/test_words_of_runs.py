"""Texts about whole runs: a file in golden/ for each kind of finding, with every case."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden import Said, cases, same_as
from make_run import entry
from turns_runs import OWN_SPEEDS, measured, own_app_run, ranking_of, service_of

from bench.analysis.findings import findings_of
from bench.analysis.runs.host_state import HostState
from bench.analysis.tables.ranking import Ceiling, Ranking
from bench.core.service_settings import Settings
from bench.matrix.flags import parse_flags
from bench.matrix.packages import Pins
from bench.plan.measurement import planned_of
from bench.plan.running import UNKNOWN, parse_running
from bench.records.record import Cause
from bench.run.facts import AppFacts, Machines, RunFacts, run_facts_of
from bench.run.provenance import COMPOSED
from bench.run.reader import ServiceFacts
from bench.tools.levels import Level
from bench.words.advice import WantedRun, advice, expectations
from bench.words.own_app import (
    choice_words,
    own_app_answers,
    own_app_choices,
    request_words,
    seen_from_project,
    server_words,
)
from bench.words.runs import Now, Then, since_then
from bench.words.setup import machines_words, package_facts

GOLDEN = Path(__file__).with_name("golden")
NO_VERDICT = "no winner"


def expected() -> Said:
    """Warnings before a run that may end without an answer; none if it will give one."""
    quiet = HostState(cpus=2, busy=0.02, steal=0.0, governors=("performance",), on_battery=False)
    wanted = WantedRun(mode="turns", services=8, tables=2, prepared_s=30.0, first_look_s=120.0)
    selections: dict[str, dict[str, Any]] = {
        "nothing against it": {},
        "time enough": {"max_time_s": 151.0},
        "one service": {"services": 1, "tables": 0},
        "measured alone": {"mode": "solo", "tables": 0},
        "no tables": {"tables": 0},
        "too few rounds": {"rounds": 3, "first_look": 4},
        "no time for any look": {"max_time_s": 60.0},
        "time for one table": {"max_time_s": 90.0},
        "time for most tables": {"max_time_s": 149.0, "tables": 14},
    }
    hosts = {"unknown host": HostState(), "one CPU": HostState(cpus=1), "other programs": HostState(busy=0.34)}
    hosts |= {"hypervisor": HostState(steal=0.05), "governor": HostState(governors=("performance", "powersave"))}
    hosts |= {"battery": HostState(on_battery=True)}
    several = expectations(HostState(cpus=1, busy=0.5, steal=0.1), replace(wanted, mode="solo"))
    selections |= {
        f"{case}, under Compose": changes | {"composed": True}
        for case, changes in selections.items()
        if {"rounds", "max_time_s"} & changes.keys()
    }
    found = {case: expectations(quiet, replace(wanted, **changes)) for case, changes in selections.items()}
    return found | {case: expectations(host, wanted) for case, host in hosts.items()} | {"several at once": several}


def with_open(ranking: Ranking, *more_rounds: int | None) -> Ranking:
    """The ranking with undecided differences that need this many more rounds."""
    contrasts = [*ranking.contrasts]
    for at, more in enumerate(more_rounds):
        contrasts[at] = replace(contrasts[at], verdict=NO_VERDICT, more_rounds=more, smallest_visible=0.04)
    return replace(ranking, contrasts=tuple(contrasts))


def advised() -> Said:
    """What would help if a run left something undecided."""
    speeds = {"aiohttp": 5000, "tornado": 3000, "uvicorn-asgi": 4000}
    decided = ranking_of(speeds, 6, 6)
    run = RunFacts(run="RUN")
    before = {"expected": ("Other programs use 34 % of the CPUs: stop them.",)}
    left = with_open(decided, None)
    limited = replace(with_open(decided, 3), ceiling=Ceiling(3, 800, 16, 0.88, 0.13, 123))
    settled_first = replace(with_open(decided, 3), ceiling=Ceiling(1, 800, 16, 0.88, 0.13, 123))
    versions = (service_of("tornado"), service_of("uvicorn-asgi"))
    wide = replace(left, contrasts=tuple(replace(one, smallest_visible=0.4) for one in left.contrasts))
    noisy = [
        replace(one, foreign_ratio=0.2, nulls={name: why for name, why in one.nulls.items() if name != "foreign_ratio"})
        for one in measured(speeds, 2)
    ]
    stolen = measured(speeds, 2, changes={stack: {"steal_ratio": 0.2} for stack in speeds})

    def said(*rankings: Ranking, **facts: Any) -> tuple[str, ...]:
        return advice(replace(run, **facts), rankings, findings_of([], RunFacts()))

    def timed(seconds: float, ranking: Ranking) -> tuple[str, ...]:
        turns = {"mode": "turns", "block": 1, "window": 1, "slot": 1, "unit": "r01-b1", "turn_s": 0.1}
        planned = planned_of(entry("aiohttp", **turns, seconds=seconds))
        return advice(run, (ranking,), findings_of([], RunFacts()), [planned])

    return {
        "everything is decided": said(decided, **before),
        "one difference is open": said(with_open(decided, 3)),
        "two are open": said(with_open(decided, 3, 40)),
        "one of two is too close": said(with_open(decided, 3, None)),
        "it is too close": said(with_open(decided, None)),
        "only one is within reach, and it is not about the best": said(with_open(decided, None, None, 3)),
        "only one is within reach, and it is about what was asked": said(
            with_open(decided, None, None, 3), pairs=(versions,)
        ),
        "only one is within reach, and it is not about two versions": said(
            with_open(decided, None, 3, None), pairs=(versions,)
        ),
        "the load is the limit": said(limited),
        "the load is the limit, with new connections": said(replace(limited, level=Level.read("c16close"))),
        "the load is the limit under Compose": said(limited, containers=COMPOSED),
        "the load is the limit of other services": said(settled_first),
        "it would take more rounds than can be asked for": said(with_open(decided, 94)),
        "noise is the reason": said(wide),
        "one is open under Compose": said(with_open(decided, 3), containers=COMPOSED),
        "cut under Compose": said(with_open(ranking_of(speeds, 4, 8), 3), containers=COMPOSED),
        "a round takes 25 s": timed(25, with_open(decided, 3, 40)),
        "a round takes 100 s": timed(100, with_open(decided, 3, 40)),
        "a round takes 100 s, and all that is open many": timed(100, with_open(decided, 40, 60, None)),
        "cut, and a round takes 25 s": timed(25, with_open(ranking_of(speeds, 4, 8), 3)),
        "two tables": said(with_open(decided, 3), with_open(decided, 3)),
        "before the first look": said(ranking_of(speeds, 2, 8)),
        "cut between looks": said(with_open(ranking_of(speeds, 4, 8), 3)),
        "expected before the run": said(with_open(decided, 3), **before),
        "expected of a run without a comparison": said(**before),
        "noise that came during the run": advice(run, (with_open(decided, 3),), findings_of(noisy, run)),
        "steal that came during the run": advice(run, (with_open(decided, 3),), findings_of(stolen, run)),
    }


def own_app() -> Said:
    """The answer about a user's own app: based on the verdicts, and never more than they say."""
    stacks = ("uvicorn-asgi", "aiohttp", "tornado")
    services: dict[str, dict[str, Any]] = {
        service_of(stack): {"server": stack, "model": f"how {stack} works", "python": "3.13"} for stack in stacks
    }
    targets = [
        {"scenario": "page", "request": "GET /", "weight": 3},
        {"scenario": "order", "request": "POST /orders", "weight": 1},
    ]
    app = {"name": "shop", "app": "main:app", "targets": targets}
    facts = run_facts_of({"own_app": app, "services": services, "knobs": {"WORKERS": "2"}})
    name = "target-127.0.0.1-8000"
    model = parse_running("http://127.0.0.1:8000", owned=False).service().server.model
    running = {"server": name, "python": UNKNOWN, "model": model, "url": "http://127.0.0.1:8000"}
    known = {"a": {"server": "uvicorn", "python": "3.13"}, name: running}
    beside = run_facts_of({"services": known, "knobs": {"WORKERS": "2"}})
    wrong = {"causes": [Cause("errors", "40 of 400 | got 500")]}
    three = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 1500, "tornado": 900}, 6, waits=True)
    ends = {service_of("uvicorn-asgi"), service_of("tornado")}
    unsure = tuple(replace(one, verdict=NO_VERDICT) if {one.a, one.b} == ends else one for one in three.contrasts)
    first, second = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 6, waits=True).rows

    def two(rounds: int = 6, *lost: str, aiohttp: int = 900) -> Ranking:
        speeds = {"uvicorn-asgi": 3000, "aiohttp": aiohttp}
        return ranking_of(speeds, rounds, waits=True, changes=dict.fromkeys(lost, wrong))

    def said(ranking: Ranking) -> list[str]:
        return [f"{requests}: {answer}" for requests, answer in own_app_answers(facts, [ranking])]

    def choices(speeds: dict[str, float], rounds: int = 6, app: str = "main:app", **kept: bool) -> list[str]:
        own, answer, started = own_app_run(speeds, rounds, app=app)
        known = started if kept.get("saved", True) else {}
        if not kept.get("noted", True):
            own = replace(own, services={one: replace(service, notes={}) for one, service in own.services.items()})
        return [
            line
            for found in own_app_choices(own, [answer if known else replace(answer, waits={})], known)
            for one in found.choices
            for line in (one.words, *one.commands, *one.more, f"{one.knob}: {one.other_numbers}", *found.notes)
        ]

    usual: dict[str, float] = {"waitress": 2400, "gunicorn-sync": 900}
    return {
        "the best, and the best of those widely used": choices(OWN_SPEEDS),
        "one is both, of an app that a function makes": choices(usual, app="a.b:make()"),
        "beside one that is widely used": choices({"granian-wsgi": 2500} | usual),
        "the usual server is the best": choices({"gunicorn-sync": 2400, "granian-wsgi": 900}),
        "too few rounds to choose": choices(OWN_SPEEDS, 2),
        "a run from before there were notes": choices(usual, noted=False),
        "no start command was saved": choices(usual, saved=False),
        "one server is best": said(three),
        "two may be": said(two(aiohttp=2995)),
        "one of a lower tier may be": said(replace(three, contrasts=unsure)),
        "too few rounds": said(two(2)),
        "the second has no figure": said(two(6, "aiohttp")),
        "the first has no figure": said(two(6, "uvicorn-asgi")),
        "no server has a figure": said(two(6, "uvicorn-asgi", "aiohttp")),
        "never in one window": said(replace(two(), rows=(first, replace(second, rank=None)), contrasts=())),
        "a run of the matrix": [answer for _, answer in own_app_answers(RunFacts(), [three])],
        "one request": request_words(facts.own_app or AppFacts(), "order"),
        # A known Python does not count as different from an unknown one.
        "a server that already runs": [choice_words(beside, name), *(server_words(beside, one) for one in (name, "a"))],
    }


def setup() -> Said:
    """Machines and packages."""

    def entry(package: str | None, stack: str = "uvicorn-asgi") -> dict[str, Any]:
        return {"stack": stack, "python": "3.13", "base": "debian", "package": package}

    wheel = {"package": "uvicorn==1.0+g1234567", "python": "py313", "from": "commit ./u@main", "sha256": "ab" * 32}
    left = {"package": "", "name": "uvicorn", "python": "py313", "from": "the release", "cause": "no such release"}
    listed = {"a": entry(None), "b": entry("uvicorn==1.0+g1234567"), "c": entry("uvicorn==2.0")}
    listed |= {"d": entry("x==1", "other")}
    packages = {
        "a": {"uvicorn": "0.9", "h11": "0.16", "click": "8"},
        "b": {"uvicorn": "1.0", "h11": "0.14", "click": "8", "new": "1"},
        "c": {"uvicorn": "2.0", "h11": "0.16", "click": "8"},
        "d": {"h11": "1"},
    }
    services = {name: ServiceFacts(name=name, packages=own) for name, own in packages.items()}
    day = "2021-03-28"
    dated = {"a": services["a"], "b": replace(services["b"], dependencies_as_of=day)}
    both = {"a": entry("uvicorn==0.9 click==8"), "b": entry("uvicorn==1.0 click==8")}
    not_built = {"a": ServiceFacts(name="a", packages={"h11": "1"}), "b": ServiceFacts(name="b")}

    def said(own: dict[str, Any], services: dict[str, ServiceFacts], **facts: Any) -> list[str]:
        return [*package_facts(run_facts_of({"services": own} | facts), services)]

    return {
        "two machines": machines_words(Machines(server="one", loadgen="two", published="198.18.83.1:21000-21004")),
        "machines that are not known": machines_words(Machines()),
        "wheels, and what they brought": said(listed, services, packages=[wheel, left]),
        "as of a day": said({"a": entry(None), "b": entry("uvicorn==1.0 new==1")}, dated),
        "each as of its own": said(both, dated | {"a": replace(services["a"], dependencies_as_of=day)}),
        "a service that was not built": said({"a": entry(None), "b": entry("u==1")}, not_built),
    }


def repeated() -> Said:
    """The differences between a run and its repetition."""
    harness = {"version": "v1", "hash": "a", "commit": "a" * 40, "images": {"bench/loadgen:latest": "sha256:1"}}
    host = {"cpu": "A CPU", "kernel": "6.1", "memory_bytes": 8 << 30}
    base = "python:3.13-slim"
    services = {"app": {"base_image": base}, "other": {"base_image": base}}
    facts: dict[str, Any] = {"seed": 1, "harness": harness, "host": host, "engine": "26.1", "containers": "fresh"}
    facts |= {"knobs": {"WORKERS": "1", "SEED": "1"}, "services": services, "skipped": [], "command": ["--seed", "1"]}
    line = {"id": "r01-0001", "mode": "turns", "service": "app", "scenario": "json", "tool": "wrk", "level": "c16"}
    plan = (line, line | {"service": "other"})
    had = {"flask": "3.1", "click": "8.1"}
    layers = {base: ["sha256:1", "sha256:2", "sha256:3"]}
    built = {name: ServiceFacts(name=name, packages=had) for name in services}
    then = Then(name="then", facts=run_facts_of(facts), plan=plan, services=built, layers=layers)
    pins = dict.fromkeys(services, Pins(had, whole=True))
    now = Now(facts=run_facts_of(facts), plan=plan, pins=pins, bases={base: ["sha256:1", "sha256:2"]})

    def changed(**changes: Any) -> Now:
        return replace(now, facts=run_facts_of(facts | changes))

    def pinned(versions: dict[str, str], *, whole: bool = True) -> Now:
        return replace(now, pins=dict.fromkeys(services, Pins(versions, whole=whole)))

    names = [f"service-{number}" for number in range(9)]
    many = run_facts_of(facts | {"services": dict.fromkeys(names, services["app"])})
    other = {"services": dict.fromkeys(("app", "new"), services["app"])}
    other |= {"skipped": [{"service": "other", "cause": "base image not reachable"}]}
    found = {
        "nothing differs": now,
        "commit": changed(harness=harness | {"commit": "b" * 40}),
        "harness": changed(harness=harness | {"hash": "b", "version": "v2"}),
        "image": changed(harness=harness | {"images": {}}),
        "engine": changed(engine="27.0"),
        "kernel": changed(host=host | {"kernel": "6.2"}),
        "CPU": changed(host=host | {"cpu": "Another"}),
        "setting": changed(knobs={"WORKERS": "2"}),
        "base image": changed(services={"app": {"base_image": "mirror:3.13"}, "other": services["other"]}),
        "another build of the base": replace(now, bases={base: ["sha256:9"]}),
        "the base is not here": replace(now, bases={}),
        "a package has another version": pinned({"flask": "3.2", "click": "8.1"}),
        "a package is gone": pinned({"flask": "3.1"}),
        "a package is new": pinned(had | {"jinja2": "3"}),
        "another order": replace(now, plan=plan[::-1]),
        "more measurements": replace(now, plan=[*plan, line]),
        "other measurements": replace(now, plan=[line, line]),
        "a new key in the plan": replace(now, plan=[line | {"new key": 1}, plan[1] | {"new key": 1}]),
        "pins that may be incomplete": pinned({"flask": "3.1"}, whole=False),
        "a service is left out and one is new": changed(**other),
        "a service is not measured": changed(services={"app": services["app"]}),
    }
    crowd = replace(then, facts=many, services={n: ServiceFacts(name=n, packages=had) for n in names})
    crowd_now = replace(now, facts=many, pins=dict.fromkeys(names, Pins({"flask": "4", "click": "8.1"}, whole=True)))
    return {case: since_then(then, one) for case, one in found.items()} | {
        "packages then are not known": since_then(replace(then, services={}, layers={}), now),
        "many services": since_then(crowd, crowd_now),
    }


PATHS = [
    ("/home/a/bench", "/home/a/bench/examples/shop", "examples/shop"),
    ("/home/a/bench", "/home/a/shop", "../shop"),
    ("", "/home/a/shop", "shop"),
    ("", "examples/shop", "examples/shop"),
]


@pytest.mark.parametrize(("project", "path", "seen"), PATHS)
def test_no_path_of_the_machine_is_shown(project: str, path: str, seen: str) -> None:
    assert seen_from_project(AppFacts(project=project), path) == seen
    options = ["--app", path, "main:app", "--before", "/bin/seed"]
    own, told, known = own_app_run(options=options, project=project)
    (found,) = own_app_choices(own, [told], known)
    for one in found.choices:
        assert f" --app {seen} main:app --before /bin/seed " in one.other_numbers


@pytest.mark.parametrize("kind", [expected, advised, own_app, setup, repeated], ids=lambda kind: kind.__name__)
def test_words(kind: Callable[[], Said]) -> None:
    same_as(GOLDEN / f"{kind.__name__}.txt", cases(kind()))


def test_the_rounds_come_from_the_fit() -> None:
    near = ranking_of({"aiohttp": 5000, "tornado": 4880}, 4, 4, spread=0.03, noise=0.02, seed=3)
    (contrast,) = near.contrasts
    assert contrast.verdict == NO_VERDICT and contrast.more_rounds


def test_the_search_for_a_number_keeps_the_flags_of_the_best() -> None:
    own, told, known = own_app_run()
    settings = Settings.parse("FLAGS='--preload --name x'")
    services = {name: replace(service, settings=settings) for name, service in own.services.items()}
    command = ("--flags", "gunicorn-*: --preload --name x", "--level", "c64")
    own = replace(own, services=services, command=command)
    (found,) = own_app_choices(own, [told], known)
    for one in found.choices:
        words = shlex.split(one.other_numbers)
        server = words[words.index("--server") + 1]
        assert words[-2:] == ["--flags", f"{server}: --preload --name x"] and words.count("--flags") == 1
        parse_flags(words[-1])
        assert words.count("--level") == 1
