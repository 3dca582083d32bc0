"""Every lock is there and pins what its requirements name."""

from __future__ import annotations

import re
import subprocess

import pytest
from places import ROOT

from bench.matrix import musl
from bench.matrix.load import load_matrix
from bench.matrix.locks import needs
from bench.matrix.packages import with_package
from bench.matrix.service import python_label
from bench.matrix.settings import read_env

MATRIX = load_matrix(ROOT / "services/matrix.toml")


def test_every_lock_is_there_and_names_what_it_locks() -> None:
    folders = {python_label(python): python for python in MATRIX.pythons}
    assert {p.name for p in (ROOT / "services/locks").iterdir()} == {*folders, "bases.tsv"}
    for label, python in folders.items():
        folder = ROOT / "services/locks" / label
        servers, frameworks, packages = needs(MATRIX, python)
        wanted = {f"server-{n}.txt" for n in servers} | {f"framework-{n}.txt" for n in frameworks}
        wanted |= {"common-sync.txt", "common-async.txt"} | {f"package-{p}.txt" for p in packages}
        on_alpine = any((s.python, s.base) == (python, "alpine") and not s.skip for s in MATRIX.services)
        wanted |= {musl.NAME} if on_alpine else set()
        assert {p.name for p in folder.glob("*.txt")} == wanted
        for lock in folder.glob("*-*.txt"):
            lines = [line for line in lock.read_text().splitlines() if line.strip() and not line.startswith((" ", "#"))]
            assert all("==" in line.partition(";")[0] for line in lines), lock
            assert lock.read_text().count("--hash=sha256:") >= len(lines), lock


def test_base_images_are_locked_by_digests_alone() -> None:
    lines = (ROOT / "services/locks/bases.tsv").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert all(re.fullmatch(r"\S+:\S+\tsha256:[0-9a-f]{64}", line) for line in lines[1:])


@pytest.mark.parametrize("settings", [{}, {"ALPINE_PYTHON_IMAGE": "own/alpine"}, {"PYPY_IMAGE": "own/pypy"}])
def test_the_bases_to_lock_are_those_that_services_are_built_from(settings: dict[str, str]) -> None:
    source = f"source {ROOT}/scripts/lib/base_lock.sh && named_bases"
    named = subprocess.run(["bash", "-euc", source], env=settings, text=True, capture_output=True, check=True)
    known = read_env(ROOT / ".env") | settings
    wanted = {MATRIX.base_image(service, known) for service in MATRIX.services if not service.skip}
    assert wanted | {known["DEBIAN_IMAGE"]} <= set(named.stdout.split())


def test_a_lock_holds_every_requirement() -> None:
    name, checked = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)"), 0
    for kind in ("server", "framework"):
        for path in (ROOT / f"services/{kind}s").glob("*/requirements.txt"):
            lines = [line for line in path.read_text().splitlines() if line and line[0].isalnum()]
            for line in lines:
                requirement = name.match(line)
                assert requirement, line
                wanted = re.sub(r"[-_.]+", "-", requirement[1]).lower()
                for python in MATRIX.pythons if ";" not in line else ():
                    needed = needs(MATRIX, python)[0 if kind == "server" else 1]
                    if path.parent.name not in needed:
                        continue
                    lock = ROOT / f"services/locks/{python_label(python)}/{kind}-{path.parent.name}.txt"
                    pinned = [
                        re.sub(r"[-_.]+", "-", p.partition("==")[0]).lower() for p in lock.read_text().splitlines()
                    ]
                    assert wanted in pinned, f"{path.parent.name} on {python}: run scripts/lock.sh"
                    checked += 1
    assert checked > 200


def test_a_version_that_a_python_is_too_old_for_is_skipped_and_not_locked() -> None:
    service = next(s for s in MATRIX.services if s.name == "aiohttp-py39-debian")
    assert with_package(MATRIX, service, "aiohttp==3.13.5").skip is None
    assert with_package(MATRIX, service, "aiohttp==3.14.5").skip == "aiohttp 3.14 needs Python 3.10"
    assert needs(MATRIX, "3.9")[2] == ["aiohttp==3.13.5"]
    assert needs(MATRIX, "3.13")[2] == ["aiohttp==3.13.5", "aiohttp==3.14.5"]
