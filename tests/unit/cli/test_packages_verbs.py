"""--package between the scripts and the plan: Pythons, wheels, and what a planned run has of them."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from places import ROOT

from bench.__main__ import main
from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run


@pytest.mark.parametrize(
    ("selection", "printed"),
    [
        ([], "py313 3.13\n"),
        (["--package", "./any@thing", "--python", "3.14,pypy*"], "py314 3.14\npypy311 pypy3.11\n"),
        (["--preset", "quick", "--package", "a==1.*,2.*"], "py313 3.13\n"),
    ],
)
def test_the_pythons_of_a_selection(
    selection: list[str], printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["package-pythons", *selection]) == 0
    assert capsys.readouterr().out == printed


def test_an_unknown_preset_or_python_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["package-pythons", "--preset", "nope"]) == 2
    assert main(["package-pythons", "--python", "2.7"]) == 2
    words = capsys.readouterr().err
    assert "unknown preset 'nope'" in words and "unknown Python '2.7'" in words


def test_a_run_has_the_wheels_and_says_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    items, out = tmp_path / "items", tmp_path / "out"
    (items / "0").mkdir(parents=True)
    (out / "py313/0-1").mkdir(parents=True)
    (items / "0/spec").write_text("./uvicorn")
    (items / "0/kind").write_text("folder")
    with zipfile.ZipFile(out / "py313/0-1/uvicorn-9.0-py3-none-any.whl", "w") as file:
        file.writestr("uvicorn-9.0.dist-info/METADATA", "Name: uvicorn\nVersion: 9.0\n")
    assert main(["packages", str(items), str(out), "py313"]) == 0
    run = make_run(parse_selection(["--package", "./uvicorn", f"--packages-in={out}"]), tmp_path / "run")
    # The run needs nothing from outside of it.
    shutil.rmtree(out)
    facts = json.loads((run / "run.json").read_text())
    (known,) = facts["packages"]
    assert facts["command"] == ["--package", "./uvicorn"]
    assert (known["name"], known["version"], known["from"], len(known["sha256"])) == (
        "uvicorn",
        "9.0",
        "folder ./uvicorn",
        64,
    )
    package = f"uvicorn==9.0+{known['content'][:7]}"
    assert known["package"] == package
    assert [entry["package"] for entry in facts["services"].values()] == [None, package]
    assert (run / "packages" / known["folder"] / "uvicorn-9.0-py3-none-any.whl").is_file()
    lines = [json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines()]
    assert {line["package"] for line in lines if line["mode"] == "turns"} == {None, package}
    assert f"{run}/packages/py313/0-1" in (run / "services.yml").read_text()
