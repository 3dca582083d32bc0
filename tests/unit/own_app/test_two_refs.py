"""An app of one's own at two refs: its services from both, and what its run keeps to go on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT
from test_describe import given as given  # noqa: PLC0414 # a fixture

from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run, plan_of
from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.own_app.app import write_app
from bench.own_app.describe import Given, describe
from bench.plan.refs import CHANGED, SIDES


@pytest.fixture
def words(given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options that scripts/compare.sh and its own app end with."""
    monkeypatch.chdir(ROOT)
    matrix = load_matrix()
    for name in ("base", "head"):
        (tmp_path / name / "locks").mkdir(parents=True)
        app, _ = describe(replace(given, folder=f"/at/{name}/shop"), matrix)
        write_app(tmp_path / name, app)
    refs = tmp_path / "refs"
    refs.mkdir()
    lines = [f"{ref}\t{ref}\t{ref}-123\t{ref}\t{ref}\t0\tresults/.refs/{ref}\n" for ref in ("main", "topic")]
    for name, text in {
        SIDES: "".join(lines),
        CHANGED: "shop/main.py\n",
        "repository": "/at\n",
        "paths": "shop\n",
    }.items():
        (refs / name).write_text(text)
    return [f"--own-app={tmp_path / 'base'}", f"--own-head={tmp_path / 'head'}", f"--sides={refs}"]


def test_an_app_is_measured_from_both_refs_on_one_server_unless_more_are_named(words: list[str]) -> None:
    options = parse_selection(words)
    plan, _, _ = plan_of(options)
    assert [service.settings_text for service in plan.services] == ["REF=main", "REF=topic"]
    assert [service.stack for service in plan.services] == ["gunicorn-sync-shop"] * 2
    assert options.max_time == 240
    assert [len(table.cells) for table in plan.tables] == [2]
    assert plan.refs is not None and plan.refs["notes"] == []
    more, _, _ = plan_of(parse_selection([*words, "--server", "waitress,cheroot"]))
    assert [len(table.cells) for table in more.tables] == [4]
    with pytest.raises(UserError, match="--target is no side of two refs"):
        plan_of(parse_selection([*words, "--target", "http://127.0.0.1:1"]))


def test_each_side_has_an_image_of_its_own_folder_and_locks(words: list[str], tmp_path: Path) -> None:
    run = make_run(parse_selection(words), tmp_path / "run")
    text = (run / "services.yml").read_text()
    for ref, side, locks in (("main", "base", "locks"), ("topic", "head", "locks-head")):
        built = text.split(f"  gunicorn-sync-shop-py313-debian-{ref}-123:\n")[1].partition("  gunicorn-sync-shop")[0]
        assert f'"app-source": "/at/{side}/shop", "app-locks": "{run}/app/{locks}/py313"' in built
        assert "context: services/" in built
    assert (run / "app/locks-head").is_dir()
    assert {path.name for path in (run / "refs").iterdir()} == {SIDES, CHANGED, "repository", "paths"}
    facts = json.loads((run / "run.json").read_text())
    assert facts["command"] == [] and facts["refs"]["head"]["ref"] == "topic"
