"""Locks: every one exists and pins what its requirements name; wheels for musl; the project's own locks."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from make_plans import MATRIX
from places import ROOT

from bench.matrix import locks as locks_module
from bench.matrix.locks import ANSWER, MUSL, musl_answers, musl_text, needs, relock_project
from bench.matrix.model import Packages, python_label
from bench.matrix.packages import normalised, pins_in, with_package
from bench.matrix.settings import read_env


def test_every_lock_is_there_and_names_what_it_locks() -> None:
    folders = {python_label(python): python for python in MATRIX.pythons}
    assert {p.name for p in (ROOT / "services/locks").iterdir()} == {*folders, "bases.tsv"}
    for label, python in folders.items():
        folder = ROOT / "services/locks" / label
        servers, frameworks, packages = needs(MATRIX, python)
        wanted = {f"server-{n}.txt" for n in servers} | {f"framework-{n}.txt" for n in frameworks}
        wanted |= {"common-sync.txt", "common-async.txt"} | {f"package-{p}.txt" for p in packages}
        on_alpine = any((s.python, s.base) == (python, "alpine") and not s.skip for s in MATRIX.services)
        wanted |= {MUSL} if on_alpine else set()
        assert {p.name for p in folder.glob("*.txt")} == wanted


def test_base_images_are_locked_by_digests_alone() -> None:
    locked = re.compile(r"\S+:\S+\tsha256:[0-9a-f]{64}")
    assert locked.fullmatch(f"python:3.13-slim\tsha256:{'0a' * 32}")
    lines = (ROOT / "services/locks/bases.tsv").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert all(map(locked.fullmatch, lines[1:]))


@pytest.mark.parametrize("settings", [{}, {"ALPINE_PYTHON_IMAGE": "own/alpine"}, {"PYPY_IMAGE": "own/pypy"}])
def test_the_bases_to_lock_are_those_that_services_are_built_from(settings: dict[str, str]) -> None:
    source = f"source {ROOT}/scripts/lib/bases.sh && named_bases"
    named = subprocess.run(["bash", "-euc", source], env=settings, text=True, capture_output=True, check=True)
    known = read_env(ROOT / ".env") | settings
    wanted = {MATRIX.base_image(service, known) for service in MATRIX.services if not service.skip}
    assert wanted | {known["DEBIAN_IMAGE"]} <= set(named.stdout.split())


def test_a_lock_holds_every_requirement() -> None:
    name, checked = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)"), 0
    for kind in ("server", "framework"):
        for path in (ROOT / f"services/{kind}s").glob("*/requirements.txt"):
            for line in (line for line in path.read_text().splitlines() if line[:1].isalnum()):
                requirement = name.match(line)
                assert requirement, line
                wanted = normalised(requirement[1])
                for python in MATRIX.pythons if ";" not in line else ():
                    if path.parent.name not in needs(MATRIX, python)[0 if kind == "server" else 1]:
                        continue
                    lock = ROOT / f"services/locks/{python_label(python)}/{kind}-{path.parent.name}.txt"
                    assert wanted in dict(pins_in(lock)), f"{path.parent.name} on {python}: run scripts/lock.sh"
                    checked += 1
    assert checked > 200


def test_a_version_that_a_python_is_too_old_for_is_skipped_and_not_locked() -> None:
    service = next(s for s in MATRIX.services if s.name == "aiohttp-py39-debian")
    assert with_package(MATRIX, service, "aiohttp==3.13.5").skip is None
    assert with_package(MATRIX, service, "aiohttp==3.14.5").skip == "aiohttp 3.14 needs Python 3.10"
    assert needs(MATRIX, "3.9")[2] == ["aiohttp==3.13.5"]
    assert needs(MATRIX, "3.13")[2] == ["aiohttp==3.13.5", "aiohttp==3.14.5"]


ON_ALPINE = [s for s in MATRIX.services if s.base == "alpine" and not s.skip]
PYTHONS = list(dict.fromkeys(s.python for s in ON_ALPINE))
SOURCES: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "services/matrix.toml").read_text())["sources"]


def folder(python: str) -> Path:
    return ROOT / "services/locks" / python_label(python)


@cache
def answers(python: str) -> dict[str, str]:
    return dict(ANSWER.findall((folder(python) / MUSL).read_text()))


@cache
def held(python: str, lock: str) -> set[str]:
    return {"==".join(pin) for pin in pins_in(folder(python) / f"{lock}.txt")}


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_was_asked_for_and_no_other(python: str) -> None:
    pins = {pin for lock in folder(python).glob("*-*.txt") for pin in held(python, lock.stem)}
    assert answers(python).keys() == pins, "run scripts/lock.sh"
    assert (folder(python) / MUSL).read_text() == musl_text(answers(python))


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
        built = {pin for pin in shared | own if found[pin] == "source"}
        compiled = {pin for pin in built if SOURCES[pin.partition("==")[0]]["compiler"]}
        # There is no compiler in the layers of drivers and frameworks.
        assert not compiled & shared, service.name
        packages = service.server.packages.get("alpine", Packages())
        assert bool(packages.build) == bool(compiled), service.name


def test_what_is_refused_is_found_by_halves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def wheels(pins: list[str], python: str) -> bool:
        calls.append(pins)
        # Two versions of one package fail together, and succeed separately.
        return "a==1" not in pins and "c==3" not in pins and not {"b==1", "b==2"} <= set(pins)

    monkeypatch.setattr(locks_module, "_have_wheels", wheels)
    monkeypatch.setattr(locks_module, "_has_source", lambda pin: pin == "a==1")
    (tmp_path / "server-x.txt").write_text("a==1 \\\n    --hash=sha256:0\nb==1\nd==4 ; python_version < '4'\n")
    (tmp_path / "server-y.txt").write_text("b==2\nc==3\n")
    text = musl_answers(tmp_path, "3.13", tmp_path / "none")
    assert re.findall(r"^--.*", text, re.MULTILINE) == ["--only-binary :all:", "--no-binary a", "--no-binary c"]
    found = dict(ANSWER.findall(text))
    assert found == {"a==1": "source", "b==1": "wheel", "b==2": "wheel", "c==3": "neither", "d==4": "wheel"}
    # Known answers are not asked for again.
    (tmp_path / "server-z.txt").write_text("e==5\n")
    (tmp_path / MUSL).write_text(text)
    calls.clear()
    again = musl_answers(tmp_path, "3.13", tmp_path / MUSL)
    assert calls == [["e==5"]] and dict(ANSWER.findall(again)) == found | {"e==5": "wheel"}


# A fake uv; its lock has the previous content (or "new"), the requirements, and the constraints.
UV = """#!/usr/bin/env python3
import pathlib, sys
words = dict(zip(sys.argv, sys.argv[1:]))
out = pathlib.Path(words["--output-file"])
kept = out.read_text().split()[0] if out.exists() else "new"
limits = pathlib.Path(words["--constraint"]).read_text().split()[0] if "--constraint" in words else "free"
out.write_text(f"{kept} {pathlib.Path(sys.argv[-1]).read_text()} {limits}")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose locks are up to date."""
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    for folder, lock in (("bench", "old asked free"), ("tests", "old asked old")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "requirements.in").write_text("asked")
        (tmp_path / folder / "requirements.txt").write_text(lock)
    return tmp_path


def locks(root: Path) -> list[str]:
    return [(root / folder / "requirements.txt").read_text() for folder in ("bench", "tests")]


def test_pins_that_hold_are_kept(root: Path) -> None:
    assert relock_project(root, check=False, upgrade=False) == []
    assert locks(root) == ["old asked free", "old asked old"]


def test_a_stale_lock_is_named_and_written_only_without_check(root: Path) -> None:
    (root / "tests/requirements.in").write_text("more")
    assert relock_project(root, check=True, upgrade=False) == ["tests/requirements.txt"]
    assert locks(root) == ["old asked free", "old asked old"]
    assert relock_project(root, check=False, upgrade=False) == ["tests/requirements.txt"]
    assert locks(root) == ["old asked free", "old more old"]


def test_an_upgrade_starts_from_nothing_and_tests_take_the_new_versions_of_bench(root: Path) -> None:
    assert relock_project(root, check=False, upgrade=True) == ["bench/requirements.txt", "tests/requirements.txt"]
    assert locks(root) == ["new asked free", "new asked new"]
