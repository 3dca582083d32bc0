"""Two refs in one plan: services, pairs, settings, what is left out, and what is chosen where nothing is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_plans import HERE, MATRIX
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.compose import run_services
from bench.matrix.knobs import parse_knob
from bench.matrix.settings import read_settings
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.refs import CHANGED, DEFAULT, SIDES, Refs, read_refs
from bench.plan.selection import Selection

RUN = read_settings({}, ROOT)
PROJECT = replace(HERE, settings=RUN)
FLASK = "gunicorn-gthread-flask"
Make = Callable[..., Refs]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Refs in a folder: the project's files, with edits of .env and matrix.toml."""

    def made(
        base: Mapping[str, str] | None = None,
        head: Mapping[str, str] | None = None,
        *,
        matrix: Callable[[str], str] = str,
        changed: str = ".env\n",
        environ: Mapping[str, str] | None = None,
        labels: tuple[str, str] = ("main", "proposed"),
    ) -> Refs:
        lines = []
        for number, settings in enumerate((base, head)):
            place = tmp_path / str(number)
            (place / "services").mkdir(parents=True)
            for entry in os.scandir(ROOT / "services"):
                if entry.name != "matrix.toml":
                    (place / "services" / entry.name).symlink_to(entry.path)
            text = (ROOT / "services/matrix.toml").read_text()
            (place / "services/matrix.toml").write_text(matrix(text) if number else text)
            own = {**RUN, **(settings or {})}
            (place / ".env").write_text("".join(f"{key}={value}\n" for key, value in own.items()))
            label = labels[number]
            line = (label, label, f"{label}-{number}{number}{number}", str(number) * 40, str(number) * 40, "0", place)
            lines.append("\t".join(map(str, line)) + "\n")
        (tmp_path / SIDES).write_text("".join(lines))
        (tmp_path / CHANGED).write_text(changed)
        return read_refs(tmp_path, PROJECT, environ or {})

    return made


def plan(refs: Refs, *vary: str, **wanted: Any) -> Plan:
    selection = Selection(vary=tuple(map(parse_knob, vary)), **wanted)
    return make_plan(PROJECT, selection, (refs.base, refs.head))


def notes(refs: Refs, made: Plan) -> list[str]:
    return [*refs.facts(made)["notes"]]


def names(made: Plan) -> list[str]:
    return [service.name for service in made.services]


def test_each_service_is_there_from_either_side_the_base_first(make: Make) -> None:
    made = plan(make(), stacks=("aiohttp", FLASK), scenarios=("json",))
    assert names(made) == [
        f"{stack}-py313-debian-{ref}" for stack in ("aiohttp", FLASK) for ref in ("main", "proposed")
    ]
    assert [s.settings_text for s in made.services] == ["REF=main", "REF=proposed"] * 2
    assert made.services[1].image == "bench/aiohttp-py313-debian-proposed-111"
    assert made.pairs == tuple(zip(names(made)[::2], names(made)[1::2], strict=True))
    assert made.preset.title == f"proposed against main: aiohttp and {FLASK}: json"
    assert [len(table.cells) for table in made.tables] == [4]


def test_worker_class_chooses_the_server_of_each_side(make: Make) -> None:
    refs = make({"WORKER_CLASS": "sync"}, {"WORKER_CLASS": "gevent"}, labels=("sync", "gevent"))
    wanted = refs.default_selection(Selection())
    assert wanted.stacks == (DEFAULT,)
    made = make_plan(PROJECT, wanted, (refs.base, refs.head))
    assert names(made) == ["gunicorn-sync-flask-py313-debian-sync", "gunicorn-gevent-flask-py313-debian-gevent"]
    assert [(t.first.scenario, t.first.tool, t.first.level.name) for t in made.tables] == [
        ("json", "wrk", "c16"),
        ("delay-20", "wrk", "c16"),
    ]
    assert made.pairs == (tuple(names(made)),) and notes(refs, made) == []
    exact = plan(refs, stacks=("gunicorn-sync-flask", "gunicorn-gevent-flask"), scenarios=("json",))
    assert names(exact)[:2] == ["gunicorn-sync-flask-py313-debian-sync", "gunicorn-sync-flask-py313-debian-gevent"]


def test_a_preset_has_the_server_of_each_side(make: Make) -> None:
    refs = make({"WORKER_CLASS": "sync"}, {"WORKER_CLASS": "gevent"})
    made = plan(refs, preset="quick", stacks=("gunicorn-$WORKER_CLASS-flask",), scenarios=("json",), tools=("vegeta",))
    assert names(made) == ["gunicorn-sync-flask-py313-debian-main", "gunicorn-gevent-flask-py313-debian-proposed"]


def test_settings_of_a_side_reach_the_services_that_read_them(make: Make) -> None:
    refs = make({}, {"WORKERS": "3", "MEMORY": "256m", "PIDS": "99"})
    made = plan(refs, stacks=("aiohttp",), scenarios=("json",))
    assert [s.settings_text for s in made.services] == ["REF=main", "REF=proposed WORKERS=3 MEMORY=256m"]
    text = run_services(MATRIX, made.services)
    base, head = text.split("  aiohttp-py313-debian-main:\n")[1].split("  aiohttp-py313-debian-proposed:\n")
    assert "WORKERS" not in base and "REF" not in text
    assert 'environment: {"WORKERS": "3"}' in head and 'mem_limit: "256m"' in head
    assert notes(refs, made) == ["PIDS differs as well, a setting of the whole run: both sides have '512'"]


def test_an_exported_variable_holds_for_both(make: Make) -> None:
    refs = make({}, {"WORKERS": "3"}, environ={"WORKERS": "1"})
    assert [s.settings_text for s in plan(refs, stacks=("aiohttp",)).services] == ["REF=main", "REF=proposed"]


def test_each_side_is_built_from_its_own_folder(make: Make, tmp_path: Path) -> None:
    text = run_services(MATRIX, plan(make(), stacks=("aiohttp",)).services)
    for number, ref in enumerate(("main", "proposed")):
        built = text.split(f"  aiohttp-py313-debian-{ref}-{str(number) * 3}:\n")[1]
        assert f'context: "{tmp_path}/{number}/services"' in built.partition("args:")[0]
        assert f'image: "bench/aiohttp-py313-debian-{ref}-{str(number) * 3}"\n    pull_policy: never' in text


def test_knobs_go_with_refs(make: Make) -> None:
    made = plan(make(), "THREADS=2,8", stacks=(FLASK,), scenarios=("json",))
    assert [s.settings_text for s in made.services] == [
        f"REF={ref} THREADS={threads}" for threads in (2, 8) for ref in ("main", "proposed")
    ]
    assert len({s.image for s in made.services}) == 2


def without_flask(text: str) -> str:
    return text.replace('flask = { interface = "wsgi" }\n', "")


def test_what_one_side_lacks_is_left_out_with_a_line_and_the_rest_goes_on(make: Make) -> None:
    assert without_flask((ROOT / "services/matrix.toml").read_text()) != (ROOT / "services/matrix.toml").read_text()
    refs = make(matrix=without_flask)
    made = plan(refs, frameworks=("flask", "aiohttp"), servers=("aiohttp", "werkzeug"))
    assert names(made) == ["aiohttp-py313-debian-main", "aiohttp-py313-debian-proposed"]
    assert [(s.service, s.cause) for s in made.skips] == [
        ("werkzeug-flask-py313-debian-main", "proposed has no such service")
    ]
    with pytest.raises(UserError, match="proposed has no such service"):
        plan(refs, frameworks=("flask",), servers=("werkzeug",))
    with pytest.raises(UserError, match="unknown framework 'flusk'"):
        plan(refs, frameworks=("flusk",))


def test_a_cell_that_one_side_does_not_offer_is_left_out_of_both(make: Make) -> None:
    refs = make(matrix=lambda text: text.replace("starlette = { ", 'starlette = { lacks = { "echo" = "gone" }, '))
    made = plan(refs, stacks=("uvicorn-starlette",), scenarios=("json", "echo"))
    assert [cell.scenario for cell in made.cells] == ["json", "json"]
    assert ("uvicorn-starlette-py313-debian-main", "echo") in [(s.service, s.scenario) for s in made.skips]


def test_a_matrix_that_cannot_be_read_names_the_ref(make: Make) -> None:
    with pytest.raises(UserError, match=r"^proposed cannot be measured by this project: services/matrix.toml is no"):
        make(matrix=lambda text: f"{text}\n[")


def test_a_setting_that_is_none_names_the_ref(make: Make) -> None:
    with pytest.raises(UserError, match=r"^WORKERS='many' in .env of proposed is not a whole number"):
        make({}, {"WORKERS": "many"})


@pytest.mark.parametrize(
    ("changed", "stacks"),
    [
        ("services/frameworks/starlette/app.py", ("uvicorn-starlette",)),
        ("services/frameworks/flask/app.py", ("gunicorn-sync-flask",)),
        ("services/servers/uvicorn/start", ("uvicorn-asgi",)),
        ("services/servers/waitress/start\nservices/frameworks/aiohttp/app.py", ("aiohttp", "waitress-wsgi")),
        ("services/locks/py313/framework-falcon.txt", ("gunicorn-sync-falcon",)),
        ("services/common/contract.py", (DEFAULT,)),
        ("services/debian.Dockerfile", (DEFAULT,)),
    ],
)
def test_what_differs_chooses_the_stacks(make: Make, changed: str, stacks: tuple[str, ...]) -> None:
    found = make(changed=f"{changed}\n").default_selection(Selection())
    assert (found.stacks, found.scenarios, found.tools, found.levels) == (
        stacks,
        ("json", "delay-20"),
        ("wrk",),
        ("c16",),
    )


def test_an_entry_of_the_matrix_that_differs_chooses_its_stack(make: Make) -> None:
    refs = make(
        changed="services/matrix.toml\n",
        matrix=lambda text: text.replace('reads = ["UVICORN_*"]', 'reads = ["UVICORN_X"]', 1),
    )
    assert refs.default_selection(Selection()).stacks == ("uvicorn-asgi",)


def test_refs_that_differ_in_nothing_a_service_is_made_of_are_refused(make: Make) -> None:
    with pytest.raises(UserError, match="no service that both main and proposed have is made of what differs"):
        make(changed="services/uv.toml\n").default_selection(Selection())


def test_a_stack_that_the_difference_does_not_touch_is_said_to_be_the_same(make: Make) -> None:
    refs = make(changed="services/frameworks/flask/app.py\n")
    same = "aiohttp is made of the same files on both sides: a difference there is noise"
    assert notes(refs, plan(refs, stacks=("aiohttp",))) == [same]
