"""What a service's image has, from its locks."""

from pathlib import Path

import pytest
from places import ROOT

from bench.matrix.load import load_matrix
from bench.matrix.packages import with_package
from bench.matrix.pins import pins_of
from bench.matrix.service import Service

LOCKS = {
    "common-sync": "psycopg2==2.9 \\\n    --hash=sha256:1\n",
    "framework-flask": "Flask==3.1 \\\n    --hash=sha256:1\nclick==8.1\n",
    "server-gunicorn-sync": "gunicorn==23.0 ; python_version > '3'\nclick==8.1\n",
    "package-flask==3.0": "flask==3.0\nits_dangerous==2.2\n",
}


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    (tmp_path / "py313").mkdir()
    for name, text in LOCKS.items():
        (tmp_path / f"py313/{name}.txt").write_text(text)
    return tmp_path


def service(monkeypatch: pytest.MonkeyPatch, name: str = "gunicorn-sync-flask-py313-debian") -> Service:
    monkeypatch.chdir(ROOT)
    return next(one for one in load_matrix().services if one.name == name)


PLAIN = {"psycopg2": "2.9", "flask": "3.1", "click": "8.1", "gunicorn": "23.0"}


def test_the_pins_of_drivers_framework_and_server(monkeypatch: pytest.MonkeyPatch, locks: Path) -> None:
    pins = pins_of(service(monkeypatch), root=locks)
    assert pins.versions == PLAIN and pins.whole


@pytest.mark.parametrize(
    ("package", "more", "whole"),
    [("flask==3.0", {"flask": "3.0", "its-dangerous": "2.2"}, True), ("flask==2.0", {"flask": "2.0"}, False)],
)
def test_a_package_of_its_own_comes_last_and_may_not_be_locked(
    package: str, more: dict[str, str], whole: bool, monkeypatch: pytest.MonkeyPatch, locks: Path
) -> None:
    made = with_package(load_matrix(), service(monkeypatch), package)
    pins = pins_of(made, root=locks)
    assert pins.versions == PLAIN | more and pins.whole is whole


def test_an_own_apps_lock_comes_last(monkeypatch: pytest.MonkeyPatch, locks: Path, tmp_path: Path) -> None:
    own = tmp_path / "own/py313"
    own.mkdir(parents=True)
    (own / "requirements.txt").write_text("flask==3.1.1\nclick==8.1\n")
    assert pins_of(service(monkeypatch), own.parent, locks).versions == PLAIN | {"flask": "3.1.1"}


def test_pypy_has_packages_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pins_of(service(monkeypatch, "gunicorn-sync-flask-pypy311-debian")).whole


def test_every_python_is_locked_with_hashes() -> None:
    """No pin in any lock is without one, and no image installs from a lock without asking for them."""
    locks = [*ROOT.glob("services/locks/*/*.txt"), ROOT / "bench/requirements.txt", ROOT / "tests/requirements.txt"]
    assert len(locks) > 200
    bare = []
    for path in locks:
        text = path.read_text().replace("\\\n", " ")
        bare += [f"{path}: {line}" for line in text.splitlines() if line[:1].isalnum() and "--hash=" not in line]
    assert bare == []
    for path in [ROOT / f"services/{base}.Dockerfile" for base in ("debian", "alpine")]:
        installs = [line for line in path.read_text().splitlines() if "pip install" in line and "--requirement" in line]
        assert installs and all("--require-hashes" in line for line in installs)
