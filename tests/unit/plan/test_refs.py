"""Two refs in one plan: services, pairs, settings, what is skipped, and the default selection."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from golden import cases, same_as
from make_plans import HERE, MATRIX, asked_in, composed, selection, told
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.settings import read_settings
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.refs import DEFAULT, REFS, Refs, read_refs
from bench.plan.selection import Selection
from bench.tools.levels import Level

RUN = read_settings({}, ROOT)
PROJECT = replace(HERE, settings=RUN)
Make = Callable[..., Refs]
Edits = Mapping[str, Callable[[str], str | None]]
"""What becomes of files in services/; None: it is not there."""


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes two refs in a folder: the project's files, with other settings in .env, and edits of those of the head."""

    def made(
        base: Mapping[str, str] | None = None,
        head: Mapping[str, str] | None = None,
        *,
        edits: Edits | None = None,
        changed: str = ".env\n",
        environ: Mapping[str, str] | None = None,
        labels: tuple[str, str] = ("main", "proposed"),
    ) -> Refs:
        sides = []
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for number, settings in enumerate((base, head)):
            place = folder / str(number)
            place.mkdir()
            edited = edits if number and edits else {}
            link(ROOT / "services", place / "services", {ROOT / "services" / name: edited[name] for name in edited})
            own = {**RUN, **(settings or {})}
            (place / ".env").write_text("".join(f"{key}={value}\n" for key, value in own.items()))
            label = labels[number]
            side = {"label": label, "name": label, "mark": f"{label}-{number}{number}{number}", "place": str(place)}
            sides.append(side | {"commit": str(number) * 40, "head": str(number) * 40, "dirty": False})
        (folder / REFS).write_text(json.dumps({"sides": sides, "changed": changed.splitlines()}))
        return read_refs(folder, PROJECT, environ or {})

    return made


def link(source: Path, to: Path, edits: Mapping[Path, Callable[[str], str | None]]) -> None:
    """Makes `to` a link to `source`, unless an edit is of it or below it."""
    if source in edits:
        text = edits[source](source.read_text())
        if text is not None:
            to.write_text(text)
    elif any(source in path.parents for path in edits):
        to.mkdir()
        for entry in source.iterdir():
            link(entry, to / entry.name, edits)
    else:
        to.symlink_to(source)


def plan(refs: Refs, *vary: str, **wanted: Any) -> Plan:
    """The plan for two refs; without `wanted`, of the default selection."""
    asked = selection(vary, **wanted)
    return make_plan(PROJECT, asked if wanted else refs.default_selection(asked), (refs.base, refs.head))


EDITS: Mapping[str, Edits] = {
    "without flask": {"frameworks/flask/framework.toml": lambda text: None},
    "without echo": {"frameworks/starlette/framework.toml": lambda text: f'lacks.echo = "gone"\n{text}'},
}
GOLDEN = Path(__file__).with_name("golden")


def test_plans_of_two_refs(make: Make) -> None:
    found = {}
    for case, vary, wanted in asked_in(GOLDEN / "refs.toml"):
        names = ("base", "head", "labels", "environ", "changed")
        differs = {name: wanted.pop(name) for name in names if name in wanted}
        refs = make(**differs, edits=EDITS.get(wanted.pop("edits", "")))
        found[case] = told(partial(plan, refs, *vary, **wanted))
        if not found[case][0].startswith("error"):
            found[case] += [f"note: {note}" for note in refs.facts(plan(refs, *vary, **wanted))["notes"]]
    same_as(GOLDEN / "refs.txt", cases(found))


def test_settings_of_a_side_reach_its_containers(make: Make) -> None:
    plans = plan(make(head={"WORKERS": "3", "MEMORY": "256m"}), stacks=("aiohttp",), scenarios=("json",))
    made = composed(MATRIX, plans.services)
    head = made["aiohttp-py313-debian-proposed"]
    assert "environment" not in made["aiohttp-py313-debian-main"]
    assert (head["environment"], head["mem_limit"]) == ({"WORKERS": "3"}, "256m")


def test_each_side_is_built_from_its_own_folder(make: Make, tmp_path: Path) -> None:
    made = composed(MATRIX, plan(make(), stacks=("aiohttp",)).services)
    for number, ref in enumerate(("main", "proposed")):
        name = f"aiohttp-py313-debian-{ref}-{str(number) * 3}"
        assert made[name]["build"]["context"] == f"{tmp_path}/0/{number}/services"
        assert [one["image"] for one in made.values() if "pull_policy" in one][number] == f"bench/{name}"


def test_a_matrix_that_cannot_be_read_names_the_ref(make: Make) -> None:
    with pytest.raises(UserError, match=r"^proposed cannot be measured by this project: services/matrix.toml is no"):
        make(edits={"matrix.toml": lambda text: f"{text}\n["})


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
        ("services/locks/py313/common-async.txt", ("uvicorn-asgi",)),
        ("services/common/contract.py", (DEFAULT,)),
        ("services/debian.Dockerfile", (DEFAULT,)),
    ],
)
def test_what_differs_chooses_the_stacks(make: Make, changed: str, stacks: tuple[str, ...]) -> None:
    found = make(changed=f"{changed}\n").default_selection(Selection())
    assert found == Selection(
        stacks=stacks, scenarios=("json", "delay-20"), tools=("wrk",), levels=(Level.parse("c16"),)
    )


def test_facts_that_differ_choose_their_stack(make: Make) -> None:
    file, other = "servers/uvicorn/server.toml", "servers/waitress/server.toml"
    changed = f"services/{file}\nservices/{other}\n"
    refs = make(changed=changed, edits={file: lambda text: text.replace("UVICORN_*", "UVICORN_X")})
    assert refs.default_selection(Selection()).stacks == ("uvicorn-asgi",)
    refs = make(changed=changed, edits={file: lambda text: f"# as before\n{text}"})
    with pytest.raises(UserError, match=r"^nothing to compare: what differs"):
        refs.default_selection(Selection())
