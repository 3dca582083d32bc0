"""Versions of packages (--package) and values of knobs (--vary): services, tables, plan lines, and what is skipped."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from golden import cases, same_as
from make_plans import HERE, MATRIX, asked_in, plan, plans, told

from bench.core.errors import UserError
from bench.matrix.compose import run_services
from bench.matrix.packages import Asked, Wheel, Wheels
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.measurement import measurement_of
from bench.plan.order import measurements
from bench.plan.selection import Selection
from bench.run.writer import defaults_facts, service_facts, write_run
from driver.messages import facts_of
from driver.run import Run

GOLDEN = Path(__file__).with_name("golden")
SERVICE = next(s for s in MATRIX.services if s.name == "uvicorn-asgi-py313-debian")
VERSION = HERE.pins(SERVICE)["uvicorn"]


def wheels(
    *versions: str, name: str = "uvicorn", kind: str = "folder", cause: str = "", together: str = "", kept: str = ""
) -> Wheels:
    """A wheel for each version; if there is a `cause`, it is the last version's.

    `together`: the version of h11 that is changed with it; `kept`: why there is none.
    """
    asked = tuple(Asked(version, kind) for version in versions)
    sides = [
        Wheel(n, name, version, f"{name}=={version}", f"py313/{n}-1", "s", "c") for n, version in enumerate(versions)
    ]
    if cause:
        sides[-1] = Wheel(len(sides) - 1, name, versions[-1], cause=cause)
    if together:
        asked += (Asked(f"h11=={together}", "release", together=True),)
        sides.append(Wheel(len(sides), "h11", together, f"h11=={together}", cause=kept))
    return Wheels(asked, {"py313": tuple(sides)})


def names(made: Plan) -> list[str]:
    return [service.name for service in made.services]


GTHREAD = "gunicorn-gthread-flask"


def test_plans_with_versions_of_packages() -> None:
    found = {}
    for case, _, wanted in asked_in(GOLDEN / "versions.toml"):
        given = wanted.pop("wheels")
        versions, py314 = given.pop("versions"), given.pop("py314", False)
        made = wheels(*versions, **given)
        if py314:
            whole = wheels(*versions, kind=given["kind"]).made["py313"]
            made = Wheels(made.asked, {**made.made, "py314": whole})
        found[case] = told(partial(plan, wheels=made, **wanted))
    same_as(GOLDEN / "versions.txt", cases(found))


def test_plans_with_values_of_knobs() -> None:
    found = {case: told(made) for case, made in plans(GOLDEN / "values.toml")}
    same_as(GOLDEN / "values.txt", cases(found))


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


def test_what_is_refused_names_those_that_have_it() -> None:
    with pytest.raises(UserError, match=r"no service of the selection has it; servers that have it: .*uvicorn"):
        plan(wheels=wheels("1.0"), stacks=("aiohttp",))
    with pytest.raises(UserError, match=r"neither aiohttp .* reads THREADS; it takes effect on: .*gthread"):
        plan("THREADS=1,8", stacks=("aiohttp",))
    with pytest.raises(UserError, match=r"UVICORN_LOOP: uvicorn is started with --loop, which prevails over it"):
        plan("UVICORN_LOOP=asyncio,uvloop", stacks=("uvicorn-asgi",))
    with pytest.raises(UserError, match="unknown knob"):
        plan("NOBODY_READS=1,2", stacks=("uvicorn-asgi",))
    with pytest.raises(UserError, match="equal sides: it is the version that the lock pins"):
        plan(wheels=wheels(VERSION, kind="release"))
    with pytest.raises(UserError, match="equal sides: it is the version that the lock pins"):
        plan(wheels=wheels(VERSION, kind="release", together=HERE.pins(SERVICE)["h11"]))


def test_the_load_of_a_quota_is_two_turns() -> None:
    lines = measurements(plan("CPU_QUOTA=0.5,1", stacks=(GTHREAD,), scenarios=("json",)), 1)
    assert {(line.turn_s, line.duration_s) for line in lines if line.mode == "turns"} == {(1.0, 2.0)}


def test_images_of_a_source_go_with_the_run() -> None:
    made = plan(wheels=wheels("2.0+gabcdef0", "2.0", kind="folder"))
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, {name: [] for name in names(made)})
    services, _ = facts_of({"services": facts})
    run = Run(Path(), "a-run", "p", {}, services)
    assert run.source_images == ("bench/uvicorn-asgi-2-0-gabcdef0-py313-debian",)
    assert replace(run, services={name: services[name] for name in names(made)[1:]}).source_images == ()


def test_an_equal_rebuild_of_the_locked_version_is_compared() -> None:
    assert len(plan(wheels=wheels(f"{VERSION}+1234567")).services) == 2
    assert len(plan(wheels=wheels(VERSION, "2.0", kind="release")).services) == 2
    assert len(plan(wheels=wheels(VERSION, kind="release", together="0.9")).services) == 2


def test_only_releases_are_put_on_alpine() -> None:
    here = replace(HERE, reachable=lambda service: True)
    wanted = Selection(stacks=("uvicorn-asgi",), bases=("alpine",))
    made = make_plan(here, replace(wanted, wheels=wheels("1.0", "2.0", kind="ladder")))
    assert {(service.wheel, service.package) for service in made.services} == {
        ("py313/0-1", "uvicorn==1.0"),
        ("py313/1-1", "uvicorn==2.0"),
    }
    with pytest.raises(UserError, match="built only for Debian images"):
        make_plan(here, replace(wanted, wheels=wheels("1.0", "2.0")))


def test_the_image_is_made_from_the_wheels_in_the_runs_folder(tmp_path: Path) -> None:
    made = plan(wheels=wheels("2.0+gabcdef0", together="0.9"))
    write_run(tmp_path, MATRIX, made.services, [], {"knobs": {}, "services": {}})
    text = (tmp_path / "services.yml").read_text()
    assert text.count('"target": "with-package"') == 1
    assert json.dumps({"package-wheels": f"{tmp_path}/packages/py313/0-1"}) in text
    assert '"CHANGED": "uvicorn==2.0+gabcdef0 h11==0.9", "PYTHON_RELEASED": "2024-10-07"' in text
    # The build does not install a release: the stage with-package installs wheels on top of the locked image.
    assert '"PACKAGE"' not in text
    assert "with-package" not in run_services(MATRIX, made.services[:1])


def test_a_line_of_the_plan_has_the_settings_and_reads_back() -> None:
    lines = measurements(plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("delay-20",)), seed=1)
    assert {line.settings.text for line in lines if line.mode == "turns"} == {"THREADS=1", "THREADS=8"}
    for line in lines:
        assert measurement_of(json.loads(line.to_line())) == line


def test_the_loop_knows_whose_image_a_service_runs_and_its_settings() -> None:
    made = plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("json",))
    routes = {service.name: ["json"] for service in made.services}
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, routes)
    assert [facts[s.name]["concurrent"] for s in made.services] == [False, True]
    services, _ = facts_of({"services": facts})
    name = "gunicorn-gthread-flask-py313-debian"
    assert [services[f"{name}-threads{n}"].build for n in (1, 8)] == [name, name]
    assert services[f"{name}-threads1"].settings == "THREADS=1"


def test_under_an_event_a_stack_with_other_settings_has_the_same_neighbours() -> None:
    made = plan("GRACEFUL=1,5", preset="bad-day", events=("stop",), stacks=("uvicorn-asgi", "gunicorn-sync-wsgi"))
    blocks = replace(made, room=40.0).event_blocks(1)
    assert [len({cell.service.stack for cell in block}) for block in blocks] == [1, 1]


def test_a_run_of_events_has_the_defaults_of_its_servers_and_what_is_given_in_their_place() -> None:
    made = plan("TIMEOUT=5", preset="bad-day", events=("hung",), stacks=("gunicorn-gthread-wsgi",))
    (found,) = defaults_facts(made.services, {"BACKLOG": "2048"}).values()
    assert {kind: (one["value"], one["given"]) for kind, one in found.items() if kind not in ("silent", "respawn")} == {
        "graceful": ("30 s", None),
        "timeout": ("30 s", "5"),
        "keepalive": ("2 s", "5"),
        "backlog": ("2048", "2048"),
    }


@pytest.mark.parametrize(
    ("stacks", "vary", "rate"),
    [
        (("uvicorn-asgi", "granian-asgi-asgi"), (), 100.0),
        (("uvicorn-asgi", "gunicorn-gthread-wsgi"), (), 60.0),
        (("uvicorn-asgi", "gunicorn-gthread-wsgi", "gunicorn-sync-wsgi"), (), 20.0),
        (("gunicorn-gthread-wsgi",), ("THREADS=1,4",), 20.0),
        (("gunicorn-sync-wsgi",), ("WORKERS=2,4",), 10.0),
    ],
)
def test_all_services_under_an_event_get_the_rate_of_the_slowest(
    stacks: tuple[str, ...], vary: tuple[str, ...], rate: float
) -> None:
    made = plan(*vary, preset="bad-day", events=("reload-keep-alive", "overload", "slow-silent"), stacks=stacks)
    rates = {(cell.event.name, cell.event.most_rate) for cell in (*made.cells, *made.nulls) if cell.event}
    assert rates == {("reload", rate), ("overload", None), ("slow", 50.0)}


def test_a_short_backlog_of_its_own_is_measured_beside_ours() -> None:
    stacks = ("uwsgi-wsgi", "waitress-wsgi")
    made = plan(preset="bad-day", events=("overload",), stacks=stacks, controls="none")
    given = [(cell.service.stack, cell.event.environment.get("BACKLOG")) for cell in made.cells if cell.event]
    assert given == [("uwsgi-wsgi", None), ("uwsgi-wsgi", "100"), ("waitress-wsgi", None)]
