"""Repeating a run: from its folder to the plan of the next run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, printed
from loop_runs import write_services

from bench.__main__ import main
from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run
from bench.cli.repeat import chooses_the_same, repeated
from bench.matrix.load import load_matrix
from bench.matrix.packages import pins_of
from bench.own_app.app import read_app

SELECTION = ["--stack", "aiohttp,tornado", "--scenario", "json", "--rounds", "4", "--seed", "5"]


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A planned run with a changed setting, whose services have the versions in their locks."""
    monkeypatch.setenv("WORKERS", "3")
    folder = make_run(parse_selection(SELECTION), tmp_path / "first")
    monkeypatch.delenv("WORKERS")
    services = {service.name: service for service in load_matrix().services}
    for name in facts_of(folder)["services"]:
        place = folder / "raw/services" / name
        place.mkdir(parents=True, exist_ok=True)
        pins = pins_of(services[name]).versions.items()
        (place / "packages.txt").write_text("".join(f"{key}=={value}\n" for key, value in pins))
        (place / "image.json").write_text('[{"RootFS": {"Layers": ["sha256:1", "sha256:2"]}}]')
    return folder


def facts_of(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return facts


def words_of(run: Path, *otherwise: str, capsys: Capture) -> dict[str, Any]:
    words: dict[str, Any] = json.loads(printed(capsys, "again", str(run), *otherwise))
    return words


def test_same_plan_and_settings(first: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of(first, capsys=capsys)
    assert words["selection"] == [*SELECTION, f"--again={first}"]
    (base,) = words["bases"]
    assert words["own_app"] == "" and words["own_options"] == []
    monkeypatch.setenv("BENCH_BASES", f"{base}=sha256:1")
    second = make_run(parse_selection(words["selection"]), tmp_path / "second")
    assert (second / "plan.jsonl").read_text() == (first / "plan.jsonl").read_text()
    assert facts_of(second)["knobs"] == facts_of(first)["knobs"]
    assert facts_of(second)["command"] == facts_of(first)["command"] == SELECTION
    (line,) = facts_of(second)["again"]["words"]
    assert facts_of(second)["again"]["run"] == "first" and facts_of(first)["again"]["run"] is None
    assert line.endswith("; no known differences")
    assert main(["build", "--quiet", str(second)]) == 0
    assert re.search(r"repeats\W+first\b", (second / "report.md").read_text())


def test_flags_are_repeated_and_choose_services(tmp_path: Path, capsys: Capture) -> None:
    flags = ["--flags", "uvicorn: --http h11 --root-path '/a b'", "--flags=uvicorn: --loop=asyncio"]
    selection = ["--stack", "uvicorn-asgi", "--scenario", "json", "--controls", "none", "--seed", "5", *flags]
    first = make_run(parse_selection(selection), tmp_path / "first")
    settings = [one["settings"] for one in facts_of(first)["services"].values()]
    assert settings[0] == "FLAGS=none" and settings[2] == "FLAGS=--loop=asyncio" and len(settings) == 3
    words = words_of(first, capsys=capsys)["selection"]
    assert words == [*selection, f"--again={first}"]
    second = make_run(parse_selection(words), tmp_path / "second")
    assert (second / "services.yml").read_text() == (first / "services.yml").read_text()
    assert chooses_the_same(words, selection) and not chooses_the_same(words, selection[:-1])
    other = words_of(first, "--flags", "uvicorn: --ws none", capsys=capsys)["selection"]
    assert [word for word in other if "--ws" in word or "h11" in word] == ["uvicorn: --ws none"]


def test_overridden_options(first: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of(first, "--rounds", "2", capsys=capsys)
    monkeypatch.setenv("WORKERS", "2")
    monkeypatch.setenv("BENCH_BASES", f"{words['bases'][0]}=sha256:9")
    second = make_run(parse_selection(words["selection"]), tmp_path / "second")
    lines = facts_of(second)["again"]["words"][1:]
    assert "differs: setting WORKERS: 3 then, 2 now" in lines
    assert f"differs: base image {words['bases'][0]}: a different build" in lines
    assert any(line.startswith("differs: measurements: ") for line in lines) and len(lines) == 3


def test_the_lines_are_printed_before_a_list(first: Path, capsys: Capture) -> None:
    assert main(["list", *words_of(first, capsys=capsys)["selection"]]) == 0
    assert capsys.readouterr().err.startswith("repeats first: ")


def test_a_subnet_and_images_are_those_of_the_machine(first: Path, tmp_path: Path, capsys: Capture) -> None:
    facts = facts_of(first)
    facts["knobs"] |= {"BENCH_SUBNET": "10.0.0.0/24", "PYTHON_IMAGE": "elsewhere/python", "GONE": "1"}
    (first / "run.json").write_text(json.dumps(facts))
    second = make_run(parse_selection(words_of(first, capsys=capsys)["selection"]), tmp_path / "second")
    knobs = facts_of(second)["knobs"]
    assert knobs["BENCH_SUBNET"] != "10.0.0.0/24" and "elsewhere" not in knobs["PYTHON_IMAGE"] and "GONE" not in knobs
    assert "differs: setting GONE: 1 then, unknown now" in facts_of(second)["again"]["words"]


def test_a_service_that_is_gone_is_an_error_unless_others_are_chosen(first: Path, capsys: Capture) -> None:
    entry, *_ = facts_of(first)["services"].values()
    write_services(first, {"gone-py313-debian": entry | {"stack": "gone"}})
    said = printed(capsys, "list", *words_of(first, capsys=capsys)["selection"], status=2)
    assert "first measured gone-py313-debian, which this version does not have" in said
    assert main(["list", *words_of(first, "--stack", "aiohttp", capsys=capsys)["selection"]]) == 0


def test_the_options_of_an_own_app_are_kept(first: Path, capsys: Capture) -> None:
    facts = facts_of(first)
    options = ["--app", "/srv/my shop", "main:app", "--before", "python3 seed.py"]
    facts["own_app"] = {"app": "main:app", "options": options}
    (first / "run.json").write_text(json.dumps(facts))
    words = words_of(first, capsys=capsys)
    assert words["own_options"] == options and words["own_app"] == "main:app"


def test_the_options_of_an_own_app_are_those_that_were_given(tmp_path: Path, capsys: Capture) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    (source / "main.py").write_text("from flask import Flask\napp = Flask(__name__)\n")
    given = ["--folder", "/home/me/My shop", "--app", "main:app"]
    given += ["--before", "python3 seed.py", "--apt", "gcc, libpq-dev"]
    (source / "Dockerfile").write_text("FROM python:3.12\n")
    assert main(["own-app", str(out), *given, "--source", str(source)]) == 0
    said = capsys.readouterr()
    assert said.out == "py313 3.13\n"
    assert said.err.splitlines() == [
        "the folder does not say what it requires: give --requirements FILE",
        "Dockerfile has Python 3.12, and 3.13 is measured: give --python 3.12 for that",
        "main:app speaks wsgi (flask.Flask)",
    ]
    app = read_app(out)
    assert app.options == ("--app", "/home/me/My shop", "main:app", *given[4:])
    assert app.facts()["options"] == app.options
    # What is given is not questioned.
    (tmp_path / "requirements.txt").write_text("flask\n")
    given += ["--python", "3.13", "--requirements", "requirements.txt"]
    given += ["--requirements-here", str(tmp_path / "requirements.txt")]
    assert main(["own-app", str(out), *given, "--source", str(source)]) == 0
    assert capsys.readouterr().err == "main:app speaks wsgi (flask.Flask)\n"


UNREPEATABLE = [
    ("[]", "is not a JSON object"),
    ('{"refs": {"base": {"ref": "sync"}}, "seed": 1, "command": []}', "is a run of two refs: repeat it with"),
    ('{"run": "contract", "knobs": {}}', "has no selection to repeat: it only checked services"),
]


@pytest.mark.parametrize(("text", "words"), UNREPEATABLE)
def test_what_cannot_be_repeated_is_one_line(text: str, words: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "run.json").write_text(text)
    assert words in printed(capsys, "again", str(tmp_path), status=2)
    assert "unknown run " in printed(capsys, "again", str(tmp_path / "nowhere"), status=2)


def test_compose_measures_no_run_again(first: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_CONTAINERS", raising=False)
    words = printed(capsys, "plan", *SELECTION, f"--again={first}", status=2)
    assert "--again needs containers of its own" in words


OTHERS = "--scenario=json --stack sanic --level knee:p99=50ms"
COMMAND = f"--stack aiohttp,tornado {OTHERS}"
TARGET = "--target http://a --i-own-this-target --rounds 2"


REPEATED = [
    (COMMAND, "", f"{COMMAND} --seed 7"),
    ("--seed 3", "", "--seed 3"),
    ("--seed=3", "--rounds 2", "--seed=3 --rounds 2"),
    ("--seed 3", "--seed 5", "--seed 5"),
    (COMMAND, "--stack=bjoern", "--scenario=json --level knee:p99=50ms --stack=bjoern --seed 7"),
    (TARGET, "--target http://b", "--rounds 2 --target http://b --seed 7"),
    ("--package a==1 --with b==1", "--package a==2", "--package a==2 --seed 7"),
    ("--package a==1 --with=b==1", "--with b==2", "--package a==1 --with b==2 --seed 7"),
    (TARGET, "--rounds 4", "--target http://a --rounds 4 --seed 7"),
]


@pytest.mark.parametrize(("command", "otherwise", "words"), REPEATED)
def test_options_replace_those_of_the_run(command: str, otherwise: str, words: str) -> None:
    assert repeated(command.split(), 7, otherwise.split()) == words.split()


def test_services_are_chosen_by_some_options_alone() -> None:
    same = {f"{COMMAND} --rounds 2 --seed 1": True, f"{COMMAND} --python 3.14": False, OTHERS: False}
    assert {other: chooses_the_same(COMMAND.split(), other.split()) for other in same} == same


@pytest.mark.parametrize(
    "words",
    [["--own-app=results/x"], ["--rounds", "2", "--images", "/etc/passwd"], ["--profile", "--sides=/", "--quiet"]],
)
def test_internal_options_are_not_taken_from_a_run(words: list[str], first: Path, capsys: Capture) -> None:
    (first / "run.json").write_text(json.dumps(facts_of(first) | {"command": words}))
    said = printed(capsys, "again", str(first), status=2)
    assert "first was edited: no run has an option --" in said


@pytest.mark.parametrize("name", ["run.json", "raw/services/x/image.json", "app/locks/py313/requirements.txt", "app"])
def test_a_run_with_a_link_is_not_repeated(name: str, first: Path, capsys: Capture) -> None:
    link = first / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(first.parent / "elsewhere.json")
    (first.parent / "elsewhere.json").write_text("{}")
    words = f"{name} is a link, which could lead out of its folder"
    assert words in printed(capsys, "again", str(first), status=2)
