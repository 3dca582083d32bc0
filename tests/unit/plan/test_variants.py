"""Versions of packages (--package) and values of knobs (--vary): services, tables, lines and what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_plans import HERE, MATRIX, plan

from bench.core.errors import UserError
from bench.matrix.compose import run_services
from bench.matrix.packages import Asked, Wheel, Wheels
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.measurement import Measurement, measurement_of, settings_of
from bench.plan.order import measurements
from bench.plan.selection import Selection
from bench.run.host_json import host_json
from bench.run.writer import service_facts, write_run

SERVICE = next(s for s in MATRIX.services if s.name == "uvicorn-asgi-py313-debian")
VERSION = HERE.pins(SERVICE)["uvicorn"]


def wheels(*versions: str, name: str = "uvicorn", kind: str = "folder", cause: str = "") -> Wheels:
    """A side for each version; the last one has the cause."""
    asked = tuple(Asked(version, kind) for version in versions)
    sides = [
        Wheel(n, name, version, f"{name}=={version}", f"py313/{n}-1", "s", "c") for n, version in enumerate(versions)
    ]
    if cause:
        sides[-1] = Wheel(len(sides) - 1, name, versions[-1], cause=cause)
    return Wheels(asked, {"py313": tuple(sides)})


def names(made: Plan) -> list[str]:
    return [service.name for service in made.services]


def test_one_version_is_compared_with_the_locked_one_on_its_own_server() -> None:
    made = plan(wheels=wheels("0.99.0+gabcdef0"))
    assert names(made) == ["uvicorn-asgi-py313-debian", "uvicorn-asgi-0-99-0-gabcdef0-py313-debian"]
    assert [cell.scenario for cell in made.cells] == ["json", "json"]
    assert [len(table.cells) for table in made.tables] == [2]
    assert [service.package for service in made.services] == [None, "uvicorn==0.99.0+gabcdef0"]


def test_of_several_the_first_is_the_base() -> None:
    made = plan(wheels=wheels("2.0", "1.0", kind="ladder"), stacks=("granian-asgi-asgi", "uvicorn-starlette"))
    assert names(made) == [
        "granian-asgi-asgi-py313-debian",
        "uvicorn-starlette-2-0-py313-debian",
        "uvicorn-starlette-1-0-py313-debian",
    ]
    assert made.pairs == (("uvicorn-starlette-2-0-py313-debian", "uvicorn-starlette-1-0-py313-debian"),)


@pytest.mark.parametrize(
    ("package", "stack"),
    [
        ("uvicorn", "uvicorn-asgi"),
        ("gunicorn", "gunicorn-sync-wsgi"),
        ("granian", "granian-wsgi-wsgi"),
        ("starlette", "uvicorn-starlette"),
        ("flask", "gunicorn-sync-flask"),
        ("django", "gunicorn-sync-django"),
        ("aiohttp", "aiohttp"),
        ("werkzeug", "werkzeug-wsgi"),
        ("h11", "uvicorn-h11-asgi"),
        ("httptools", "uvicorn-asgi"),
        ("gevent", "gevent-pywsgi-wsgi"),
        ("jinja2", "gunicorn-sync-wsgi"),
    ],
)
def test_without_services_the_stack_of_a_package_is_the_usual_one(package: str, stack: str) -> None:
    made = plan(wheels=wheels("1.0", "2.0", name=package))
    assert {service.stack for service in made.services} == {stack}
    assert len(made.services) == 2


def test_a_rung_without_a_wheel_is_skipped_with_its_cause() -> None:
    made = plan(wheels=wheels("1.0", "2.0", "3.*", kind="ladder", cause="it needs another Python"))
    assert names(made) == ["uvicorn-asgi-1-0-py313-debian", "uvicorn-asgi-2-0-py313-debian"]
    (skip,) = made.skips
    assert (skip.service, skip.cause) == ("uvicorn-asgi-3-py313-debian", "it needs another Python")


def test_a_version_that_one_python_has_alone_is_left_out_there() -> None:
    given = wheels("1.0", "2.0", kind="release", cause="it needs another Python")
    both = wheels("1.0", "2.0", kind="release")
    given = Wheels(given.asked, {"py313": given.made["py313"], "py314": both.made["py313"]})
    made = plan(wheels=given, pythons=("3.13", "3.14"))
    assert names(made) == ["uvicorn-asgi-1-0-py314-debian", "uvicorn-asgi-2-0-py314-debian"]
    assert [skip.cause for skip in made.skips] == [
        "on this Python no other version of the package can be had to compare it with",
        "it needs another Python",
    ]


@pytest.mark.parametrize(
    ("given", "wanted", "words"),
    [
        (wheels("1.0", name="nobody"), {}, "--package nobody: no service has it"),
        (
            wheels("1.0"),
            {"stacks": ("aiohttp",)},
            "no service of the selection has it; servers that have it: .*uvicorn",
        ),
        (wheels("1.0", name="nobody"), {"stacks": ("aiohttp",)}, "has it; nor has any other of the matrix"),
        (wheels(VERSION, kind="release"), {}, "equal sides: it is the version that the lock pins"),
    ],
)
def test_what_cannot_be_compared_is_refused(given: Wheels, wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        plan(wheels=given, **wanted)


def test_images_of_a_source_go_with_the_run() -> None:
    made = plan(wheels=wheels("2.0+gabcdef0", "2.0", kind="folder"))
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, {name: [] for name in names(made)})
    assert json.loads(host_json(facts))["source_images"] == ["bench/uvicorn-asgi-2-0-gabcdef0-py313-debian"]
    assert json.loads(host_json({name: facts[name] for name in names(made)[1:]}))["source_images"] == []


def test_an_equal_rebuild_of_the_locked_version_is_compared() -> None:
    assert len(plan(wheels=wheels(f"{VERSION}+1234567")).services) == 2
    assert len(plan(wheels=wheels(VERSION, "2.0", kind="release")).services) == 2


def test_only_releases_are_put_on_alpine() -> None:
    here = replace(HERE, reachable=lambda service: True)
    wanted = Selection(stacks=("uvicorn-asgi",), bases=("alpine",))
    made = make_plan(here, replace(wanted, wheels=wheels("1.0", "2.0", kind="ladder")))
    assert {(service.wheel, service.package) for service in made.services} == {
        ("", "uvicorn==1.0"),
        ("", "uvicorn==2.0"),
    }
    with pytest.raises(UserError, match="built for Debian's images alone"):
        make_plan(here, replace(wanted, wheels=wheels("1.0", "2.0")))


def test_the_image_is_made_from_the_wheel_in_the_runs_folder(tmp_path: Path) -> None:
    made = plan(wheels=wheels("2.0+gabcdef0"))
    write_run(tmp_path, MATRIX, made.services, [], {"knobs": {}, "services": {}})
    text = (tmp_path / "services.yml").read_text()
    assert text.count("target: with-wheel") == 1
    assert json.dumps({"package-wheel": f"{tmp_path}/packages/py313/0-1"}) in text
    # The stage puts the wheel on the image as it is locked.
    assert "PACKAGE" not in text
    assert "with-wheel" not in run_services(MATRIX, made.services[:1])


GTHREAD = "gunicorn-gthread-flask"


def settings(made: Plan) -> list[str | None]:
    return [service.settings_text for service in made.services]


def test_every_combination_is_a_service_of_one_table() -> None:
    made = plan("WORKERS=1,2", "THREADS=2,4,16", stacks=(GTHREAD,), scenarios=("delay-20",))
    assert settings(made) == [f"WORKERS={w} THREADS={t}" for w in (1, 2) for t in (2, 4, 16)]
    (table,) = made.tables
    assert len(table.cells) == 6
    assert made.preset.title == (
        "gunicorn-gthread-flask (Python 3.13, debian) with WORKERS=1 THREADS=2, WORKERS=1 THREADS=4,"
        " WORKERS=1 THREADS=16 and 3 others: delay-20"
    )


def test_a_line_of_the_plan_has_the_settings_and_reads_back() -> None:
    lines = measurements(plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("delay-20",)), seed=1)
    assert {line.settings for line in lines if line.mode == "turns"} == {"THREADS=1", "THREADS=8"}
    for line in lines:
        assert measurement_of(json.loads(line.to_line())) == line
    assert settings_of("WORKERS=2 THREADS=4") == {"WORKERS": "2", "THREADS": "4"}


def test_lines_without_settings_are_as_they_were() -> None:
    lines = measurements(plan(stacks=(GTHREAD,)), seed=1)
    assert all(isinstance(line, Measurement) and "settings" not in json.loads(line.to_line()) for line in lines)


def test_what_only_some_read_leaves_the_others_out_with_a_line() -> None:
    made = plan("THREADS=1,8", stacks=(GTHREAD, "gunicorn-sync-flask"), scenarios=("json",))
    assert {service.stack for service in made.services} == {GTHREAD}
    (skip,) = made.skips
    assert skip.service == "gunicorn-sync-flask-py313-debian"
    assert skip.cause == "neither gunicorn-sync nor its app reads THREADS"


def test_what_none_reads_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(UserError, match=r"no server of the selection reads it; those that do: .*gunicorn-gthread"):
        plan("THREADS=1,8", stacks=("uvicorn-asgi", "aiohttp"))
    with pytest.raises(UserError, match="no server of the selection reads it; nor does any other"):
        plan("NOBODY=1,8", stacks=("uvicorn-asgi",))


def test_a_knob_twice_and_too_many_combinations_are_errors() -> None:
    with pytest.raises(UserError, match="--vary THREADS is given twice"):
        plan("THREADS=1", "THREADS=8", stacks=(GTHREAD,))
    with pytest.raises(UserError, match="100 combinations"):
        ten = ",".join(map(str, range(1, 11)))
        plan(f"THREADS={ten}", f"WORKERS={ten}", stacks=(GTHREAD,))


def test_a_published_comparison_is_not_put_beside_services_of_one_stack() -> None:
    assert plan(preset="sync-vs-gevent").preset.published == "sync-vs-gevent"
    assert plan("WORKERS=1,4", preset="sync-vs-gevent").preset.published is None


def test_without_a_selection_the_quick_preset_is_varied() -> None:
    made = plan("WORKERS=1,2")
    assert made.preset.name == "quick"
    assert len(made.services) == 16


def test_quotas_are_judged_by_goodput_in_longer_turns() -> None:
    quotas = plan("CPU_QUOTA=0.5,1", stacks=(GTHREAD,), scenarios=("json",))
    (table,) = quotas.tables
    assert table.waits and table.turn_s == 1.0
    lines = [line for line in measurements(quotas, 1) if line.mode == "turns"]
    assert {(line.turn_s, line.duration_s) for line in lines} == {(1.0, 2.0)}
    (of_eight,) = plan("CPU_QUOTA=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8", stacks=(GTHREAD,), scenarios=("json",)).tables
    assert 8 * of_eight.turn_s <= 4.0


def test_workers_are_judged_by_goodput_where_they_could_use_more_cpus() -> None:
    one, two = (
        plan("WORKERS=1,2", settings={"SERVER_CPUS": cpus}, stacks=(GTHREAD,), scenarios=("json",)).tables[0]
        for cpus in ("0", "0-1")
    )
    assert (one.waits, two.waits) == (False, True)
    (same,) = plan(
        "WORKERS=2", "KEEPALIVE=2,5", settings={"SERVER_CPUS": "0-1"}, stacks=(GTHREAD,), scenarios=("json",)
    ).tables
    assert not same.waits


def test_the_preset_workers_varies_threads_where_they_are_read() -> None:
    made = plan(preset="workers")
    assert [text for text in settings(made) if text and "THREADS" not in text] == [f"WORKERS={n}" for n in (1, 2, 4)]
    assert len(made.services) == 12 and not made.skips
    fastapi = plan(preset="workers", frameworks=("fastapi",), servers=("uvicorn",))
    assert settings(fastapi) == [f"WORKERS={n}" for n in (1, 2, 4)]
    narrowed = plan("WORKERS=1,8", preset="workers")
    assert set(settings(narrowed)) == {"WORKERS=1", "WORKERS=8"}


def test_the_loop_knows_whose_image_a_service_runs_and_its_settings() -> None:
    made = plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("json",))
    routes = {service.name: ["json"] for service in made.services}
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, routes)
    assert [facts[s.name]["concurrent"] for s in made.services] == [False, True]
    services = json.loads(host_json(facts))["services"]
    name = "gunicorn-gthread-flask-py313-debian"
    assert [services[f"{name}-threads{n}"]["build"] for n in (1, 8)] == [name, name]
    assert services[f"{name}-threads1"]["settings"] == "THREADS=1"
