"""What is said of a run that is repeated before it begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.matrix.pins import Pins
from bench.run.reader import ServiceFacts
from bench.words.runs import Now, Then, since_then

HARNESS = {"version": "v1", "hash": "a", "commit": "a" * 40, "images": {"bench/loadgen:latest": "sha256:1"}}
HOST = {"cpu": "A CPU", "kernel": "6.1", "memory_bytes": 8 << 30}
SERVICES = {"app": {"base_image": "python:3.13-slim"}, "other": {"base_image": "python:3.13-slim"}}
FACTS: dict[str, Any] = {"seed": 1, "harness": HARNESS, "host": HOST, "engine": "26.1", "containers": "fresh"}
FACTS |= {"knobs": {"WORKERS": "1", "SEED": "1"}, "services": SERVICES, "skipped": [], "command": ["--seed", "1"]}
LINE = {"id": "r01-0001", "mode": "turns", "service": "app", "scenario": "json", "tool": "wrk", "level": "c16"}
PLAN = (LINE, LINE | {"service": "other"})
HAD = {"flask": "3.1", "click": "8.1"}
THEN = Then(
    name="then",
    facts=FACTS,
    plan=PLAN,
    services={name: ServiceFacts(name=name, packages=HAD) for name in SERVICES},
    layers={"python:3.13-slim": ["sha256:1", "sha256:2", "sha256:3"]},
)
NOW = Now(
    facts=FACTS,
    plan=PLAN,
    pins=dict.fromkeys(SERVICES, Pins(HAD, whole=True)),
    bases={"python:3.13-slim": ["sha256:1", "sha256:2"]},
)


def test_the_same_run_on_the_same_machine() -> None:
    assert since_then(THEN, NOW) == [
        "again then: 2 measurements, seed 1, as then; nothing differs that is known",
    ]


def changed(**facts: Any) -> Now:
    return replace(NOW, facts=FACTS | facts)


def pinned(versions: dict[str, str], *, whole: bool = True) -> Now:
    return replace(NOW, pins=dict.fromkeys(SERVICES, Pins(versions, whole=whole)))


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (changed(harness=HARNESS | {"commit": "b" * 40}), "commit: aaaaaaaaaaaa then, bbbbbbbbbbbb now"),
        (changed(harness=HARNESS | {"hash": "b", "version": "v2"}), "harness: v1 (a) then, v2 (b) now"),
        (changed(harness=HARNESS | {"images": {}}), "image of bench/loadgen:latest: 1 then, unknown now"),
        (changed(engine="27.0"), "engine: 26.1 then, 27.0 now"),
        (changed(host=HOST | {"kernel": "6.2"}), "host kernel: 6.1 then, 6.2 now"),
        (changed(host=HOST | {"cpu": "Another"}), "host cpu: A CPU then, Another now"),
        (changed(knobs={"WORKERS": "2"}), "setting WORKERS: 1 then, 2 now"),
        (
            changed(services={"app": {"base_image": "mirror:3.13"}, "other": SERVICES["other"]}),
            "base image: python:3.13-slim then, mirror:3.13 now",
        ),
        (replace(NOW, bases={"python:3.13-slim": ["sha256:9"]}), "base image python:3.13-slim: another build"),
        (replace(NOW, bases={}), "base image python:3.13-slim: not here yet, so that it may be another build"),
        (pinned({"flask": "3.2", "click": "8.1"}), "package flask: 3.1 then, 3.2 now (app, other)"),
        (pinned({"flask": "3.1"}), "package click: 8.1 then, none now (app, other)"),
        (pinned(HAD | {"jinja2": "3"}), "package jinja2: none then, 3 now (app, other)"),
        (replace(NOW, plan=PLAN[::-1]), "measurements: in another order"),
        (replace(NOW, plan=[*PLAN, LINE]), "measurements: 2 then, 3 now"),
        (replace(NOW, plan=[LINE, LINE]), "measurements: as many, but of other loads"),
        (replace(NOW, plan=[LINE | {"new key": 1}, PLAN[1] | {"new key": 1}]), ""),
        (pinned({"flask": "3.1"}, whole=False), ""),
    ],
)
def test_each_difference_is_a_line(now: Now, line: str) -> None:
    first, *others = since_then(THEN, now)
    assert others == ([f"differs: {line}"] if line else [])
    assert first.startswith("again then: ")
    assert ("as then" in first) == (not line)


def test_a_service_that_is_left_out_or_new() -> None:
    now = changed(
        services={"app": SERVICES["app"], "new": SERVICES["app"]},
        skipped=[{"service": "other", "cause": "base image not reachable"}],
    )
    assert since_then(THEN, now)[1:] == [
        "differs: other is left out now: base image not reachable",
        "differs: measured now only: new",
    ]
    now = changed(services={"app": SERVICES["app"]})
    assert since_then(THEN, now)[1:] == ["differs: not measured now: other"]


def test_what_a_packed_run_does_not_have_is_said() -> None:
    then = replace(THEN, plan=None, services={}, layers={})
    assert since_then(then, NOW)[1:] == [
        "differs: packages then are not known: app, other",
        "differs: the plan is packed with the raw files, so that the order of measurements is not compared",
    ]


def test_many_services_of_one_difference_are_one_line() -> None:
    names = [f"service-{number}" for number in range(9)]
    services = dict.fromkeys(names, SERVICES["app"])
    facts = FACTS | {"services": services}
    then = replace(THEN, facts=facts, services={n: ServiceFacts(name=n, packages=HAD) for n in names})
    now = replace(NOW, facts=facts, pins=dict.fromkeys(names, Pins({"flask": "4", "click": "8.1"}, whole=True)))
    (line,) = since_then(then, now)[1:]
    assert line.endswith("now (service-0, service-1, service-2, service-3 and 5 more)")
