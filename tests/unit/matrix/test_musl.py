"""What has no wheel for musl: asked of pip for every pin, and known to the matrix."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from bench.matrix import musl
from bench.matrix.load import load_matrix
from bench.matrix.service import Packages, python_label

MATRIX = load_matrix(ROOT / "services/matrix.toml")
ON_ALPINE = [s for s in MATRIX.services if s.base == "alpine" and not s.skip]
PYTHONS = list(dict.fromkeys(s.python for s in ON_ALPINE))
SOURCES: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "services/matrix.toml").read_text())["sources"]


def folder(python: str) -> Path:
    return ROOT / "services/locks" / python_label(python)


@cache
def answers(python: str) -> dict[str, str]:
    return dict(musl.ANSWER.findall((folder(python) / musl.NAME).read_text()))


@cache
def held(python: str, lock: str) -> set[str]:
    return set(musl.PIN.findall((folder(python) / f"{lock}.txt").read_text()))


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_was_asked_for_and_no_other(python: str) -> None:
    pins = {pin for lock in folder(python).glob("*-*.txt") for pin in held(python, lock.stem)}
    assert answers(python).keys() == pins, "run scripts/lock.sh"
    assert (folder(python) / musl.NAME).read_text() == musl.render(answers(python))


def test_what_has_no_wheel_is_in_the_list_and_nothing_else_is() -> None:
    without = {pin.partition("==")[0] for p in PYTHONS for pin, a in answers(p).items() if a != "wheel"}
    assert without == SOURCES.keys()


@pytest.mark.parametrize("python", PYTHONS)
def test_an_alpine_service_has_what_its_sources_need_or_is_skipped(python: str) -> None:
    found = answers(python)
    for service in (s for s in ON_ALPINE if s.python == python):
        shared = held(python, f"common-{service.server.style}") | held(python, f"framework-{service.framework.name}")
        own = held(python, f"server-{service.server.name}")
        assert not [pin for pin in shared | own if found[pin] == "neither"], service.name
        compiled = {
            pin for pin in shared | own if found[pin] == "source" and SOURCES[pin.partition("==")[0]]["compiler"]
        }
        # The layers of drivers and frameworks have no compiler.
        assert not compiled & shared, service.name
        packages = service.server.packages.get("alpine", Packages())
        assert bool(packages.build) == bool(compiled), service.name


def test_what_is_refused_is_found_by_halves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def wheels(pins: list[str], python: str) -> bool:
        calls.append(pins)
        # Two versions of one package are refused together, and found apart.
        return "a==1" not in pins and "c==3" not in pins and not {"b==1", "b==2"} <= set(pins)

    monkeypatch.setattr(musl, "_wheels", wheels)
    monkeypatch.setattr(musl, "_has_source", lambda pin: pin == "a==1")
    (tmp_path / "server-x.txt").write_text("a==1 \\\n    --hash=sha256:0\nb==1\nd==4 ; python_version < '4'\n")
    (tmp_path / "server-y.txt").write_text("b==2\nc==3\n")
    text = musl.answers(tmp_path, "3.13", tmp_path / "none")
    assert re.findall(r"^--.*", text, re.MULTILINE) == ["--only-binary :all:", "--no-binary a", "--no-binary c"]
    found = dict(musl.ANSWER.findall(text))
    assert found == {"a==1": "source", "b==1": "wheel", "b==2": "wheel", "c==3": "neither", "d==4": "wheel"}
    # What was answered is not asked again.
    (tmp_path / "server-z.txt").write_text("e==5\n")
    (tmp_path / musl.NAME).write_text(text)
    calls.clear()
    again = musl.answers(tmp_path, "3.13", tmp_path / musl.NAME)
    assert calls == [["e==5"]]
    assert dict(musl.ANSWER.findall(again)) == found | {"e==5": "wheel"}
