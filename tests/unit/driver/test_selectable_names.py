"""Names before anything is set up: lists, names that do not exist, and what a selection names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from captured import Capture
from docker_calls import Docker

from driver.failure import Failure
from driver.planning import matrix
from driver.planning.names import list_of, names_in, read_lists, selected
from driver.run import ROOT

LISTS = read_lists(ROOT)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A clone without additions to the matrix, in which setup would fail the test."""
    monkeypatch.setattr(matrix, "LOCAL", tmp_path / "none")
    monkeypatch.setattr(matrix, "set_up", lambda: pytest.fail("set up"))
    monkeypatch.delenv(matrix.TWO_REFS, raising=False)


@pytest.fixture
def no_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any client."""
    monkeypatch.setenv("BENCH_DOCKER", "")
    monkeypatch.setattr("driver.docker.CANDIDATES", ())


@pytest.mark.usefixtures("no_docker")
def test_a_list_needs_no_docker(capsys: Capture) -> None:
    for what, named in LISTS.items():
        assert matrix.main(["--list", what]) == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(named)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["stack"], r"unknown list 'stack'; did you mean stacks\? there are: presets, stacks, "),
        (["stacks", "--server", "aiohttp"], r"--list stacks prints all names and takes no other option \(--server\)"),
    ],
)
def test_no_such_list(words: list[str], why: str) -> None:
    with pytest.raises(Failure, match=why):
        matrix.main(["--list", *words])
    assert list_of(LISTS, "tools", [])


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ("", {"quick"}),
        ("--preset bad-day", {"bad-day"}),
        ("--framework=fastapi --server uvicorn*,daphne", {"uvicorn-fastapi", "uvicorn-h11-fastapi", "daphne-fastapi"}),
        ("--server tornado --rounds 3", {"tornado"}),
        ("--preset quick --stack aio*", {"quick", "aiohttp", "aiohttp-uvloop-aiohttp"}),
        ("--scenario json", set(LISTS["stacks"])),
        ("--event=slow", {"bad-day"}),
        ("--event slow --stack tornado", {"bad-day", "tornado"}),
    ],
)
@pytest.mark.usefixtures("no_docker")
def test_a_selection_before_any_set_up(selection: str, found: set[str], capsys: Capture) -> None:
    assert matrix.main(["--list", *selection.split()]) == 0
    said = capsys.readouterr()
    assert {line.split()[0] for line in said.out.splitlines()} == found
    assert re.fullmatch(r"the cells .* an image that scripts/setup\.sh builds, once\n", said.err)


@pytest.mark.parametrize("more", [["--list"], [], ["--list", "--rounds", "2"]])
@pytest.mark.parametrize(
    ("selection", "why"),
    [
        ("--framework Flsk", r"framework 'Flsk'; did you mean flask\? scripts/matrix.sh --list frameworks lists all"),
        ("--stack uvicorn-asgi,gunicorn-snyc-flask", "stack 'gunicorn-snyc-flask'; did you mean gunicorn-sync-flask"),
        ("--preset quik", "unknown preset 'quik'; did you mean quick"),
        ("--tool=curl", "unknown tool 'curl'; scripts/matrix"),
        ("--python 3.31", "unknown python '3.31'"),
    ],
)
@pytest.mark.usefixtures("no_docker")
def test_an_unknown_name_is_refused_before_any_set_up(
    selection: str, why: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "need_results", lambda _: None)
    with pytest.raises(Failure, match=why):
        matrix.main([*selection.split(), *more])


@pytest.mark.usefixtures("no_docker")
def test_what_matches_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failure, match="nothing matches the selection"):
        matrix.main(["--list", "--server", "bjoern", "--framework", "starlette"])
    assert names_in(["--stack", "uvicorn-synthetic"], LISTS) == {"stacks": ["uvicorn-synthetic"]}
    assert selected({"presets": ["selftest-*"]}, LISTS).keys() == {n for n in LISTS["presets"] if "selftest" in n}
    # A machine's own additions are not in the file.
    (tmp_path / "local").touch()
    monkeypatch.setattr(matrix, "LOCAL", tmp_path / "local")
    with pytest.raises(pytest.fail.Exception, match="set up"):
        matrix.main(["--list", "--preset", "mine"])


def test_a_list_is_planned_without_set_up_where_the_images_are(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(matrix.harness, "can_plan", lambda: True)
    docker.says("image inspect", "")
    docker.says("-m bench list --images=/dev/stdin --framework nope", "planned\n")
    assert matrix.main(["--list", "--framework", "nope"]) == 0
    assert capsys.readouterr().out == "planned\n"
