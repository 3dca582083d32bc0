"""--package in a plan: which services get which version of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.matrix.wheels import Asked, Wheel, Wheels
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.compose import run_services
from bench.matrix.load import load_matrix
from bench.matrix.packages import locked
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.selection import Selection
from bench.plan.variants import Variant
from bench.run.writer import host_json, service_facts, write_run

MATRIX = load_matrix(ROOT / "services/matrix.toml")
PINS = locked(ROOT / "services/locks")
SERVICE = next(s for s in MATRIX.services if s.name == "uvicorn-asgi-py313-debian")
VERSION = PINS(SERVICE)["uvicorn"]


def wheels(*versions: str, name: str = "uvicorn", kind: str = "folder", cause: str = "") -> Wheels:
    """A side for each version; the last one has the cause."""
    asked = tuple(Asked(version, kind) for version in versions)
    sides = [
        Wheel(n, name, version, f"{name}=={version}", f"py313/{n}-1", "s", "c") for n, version in enumerate(versions)
    ]
    if cause:
        sides[-1] = Wheel(len(sides) - 1, name, versions[-1], cause=cause)
    return Wheels(asked, {"py313": tuple(sides)})


def plan(given: Wheels, **wanted: Any) -> Plan:
    settings = {"WORKER_CLASS": "sync", "SERVER_CPUS": "0"}
    here = Variant(matrix=MATRIX, settings=settings, pins=PINS)
    return make_plan(MATRIX, Selection(wheels=given, **wanted), settings, lambda _: True, variants=[here])


def names(made: Plan) -> list[str]:
    return [service.name for service in made.services]


def test_one_version_is_compared_with_the_locked_one_on_its_own_server() -> None:
    made = plan(wheels("0.99.0+gabcdef0"))
    assert names(made) == ["uvicorn-asgi-py313-debian", "uvicorn-asgi-0-99-0-gabcdef0-py313-debian"]
    assert [cell.scenario for cell in made.cells] == ["json", "json"]
    assert [len(table.cells) for table in made.tables] == [2]
    assert [service.package for service in made.services] == [None, "uvicorn==0.99.0+gabcdef0"]


def test_of_several_the_first_is_the_base() -> None:
    made = plan(wheels("2.0", "1.0", kind="ladder"), stacks=("granian-asgi-asgi", "uvicorn-starlette"))
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
    made = plan(wheels("1.0", "2.0", name=package))
    assert {service.stack for service in made.services} == {stack}
    assert len(made.services) == 2


def test_a_rung_without_a_wheel_is_skipped_with_its_cause() -> None:
    made = plan(wheels("1.0", "2.0", "3.*", kind="ladder", cause="it needs another Python"))
    assert names(made) == ["uvicorn-asgi-1-0-py313-debian", "uvicorn-asgi-2-0-py313-debian"]
    (skip,) = made.skips
    assert (skip.service, skip.cause) == ("uvicorn-asgi-3-py313-debian", "it needs another Python")


def test_a_version_that_one_python_has_alone_is_left_out_there() -> None:
    given = wheels("1.0", "2.0", kind="release", cause="it needs another Python")
    both = wheels("1.0", "2.0", kind="release")
    given = Wheels(given.asked, {"py313": given.made["py313"], "py314": both.made["py313"]})
    made = plan(given, pythons=("3.13", "3.14"))
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
        plan(given, **wanted)


def test_images_of_a_source_go_with_the_run() -> None:
    made = plan(wheels("2.0+gabcdef0", "2.0", kind="folder"))
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, {name: [] for name in names(made)})
    assert json.loads(host_json(facts))["source_images"] == ["bench/uvicorn-asgi-2-0-gabcdef0-py313-debian"]
    assert json.loads(host_json({name: facts[name] for name in names(made)[1:]}))["source_images"] == []


def test_an_equal_rebuild_of_the_locked_version_is_compared() -> None:
    assert len(plan(wheels(f"{VERSION}+1234567")).services) == 2
    assert len(plan(wheels(VERSION, "2.0", kind="release")).services) == 2


def test_only_releases_are_put_on_alpine() -> None:
    made = plan(wheels("1.0", "2.0", kind="ladder"), stacks=("uvicorn-asgi",), bases=("alpine",))
    assert {(service.wheel, service.package) for service in made.services} == {
        ("", "uvicorn==1.0"),
        ("", "uvicorn==2.0"),
    }
    with pytest.raises(UserError, match="built for Debian's images alone"):
        plan(wheels("1.0", "2.0"), stacks=("uvicorn-asgi",), bases=("alpine",))


def test_the_image_is_made_from_the_wheel_in_the_runs_folder(tmp_path: Path) -> None:
    made = plan(wheels("2.0+gabcdef0"))
    write_run(tmp_path, MATRIX, made.services, [], {"knobs": {}, "services": {}})
    text = (tmp_path / "services.yml").read_text()
    assert text.count("target: with-wheel") == 1
    assert json.dumps({"package-wheel": f"{tmp_path}/packages/py313/0-1"}) in text
    # The stage puts the wheel on the image as it is locked.
    assert "PACKAGE" not in text
    assert "with-wheel" not in run_services(MATRIX, made.services[:1])
