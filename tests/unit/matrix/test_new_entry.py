"""A new entry is written whole, or nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from bench.matrix import new_entry
from bench.matrix.new_entry import add_baseline, scaffold

MATRIX_TOML = '[servers]\na = { x = 1 }\n\n[frameworks]\nb = { interface = "asgi" }\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a template, a framework `b` with a lock, and the same once more in old/, with another app."""
    for place in (tmp_path, tmp_path / "old"):
        for name, text in {
            "matrix.toml": MATRIX_TOML.replace("asgi", "wsgi") if place.name == "old" else MATRIX_TOML,
            "templates/framework-asgi/app.py": "NAME is NAME, NAMES are not",
            "frameworks/b/app.py": f"app of {'old' if place.name == 'old' else 'now'}",
            "locks/py313/framework-b.txt": f"lock of {'old' if place.name == 'old' else 'now'}",
            "locks/py313/framework-b-more.txt": "another's",
        }.items():
            path = place / "services" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "services"


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_scaffold_is_its_template_with_the_name_and_a_line(project: Path) -> None:
    before = files(project)
    scaffold("framework", "new", "asgi")
    line = 'new = { interface = "asgi", lacks = { "*" = "not yet offered" } }\n'
    assert files(project) == before | {
        "frameworks/new/app.py": "new is new, NAMES are not",
        "matrix.toml": MATRIX_TOML + line,
    }


def test_a_baseline_is_folder_locks_and_line_as_they_were(project: Path) -> None:
    before = files(project)
    add_baseline("framework", "b", Path("old"))
    assert files(project) == before | {
        "frameworks/b-base/app.py": "app of old",
        "locks/py313/framework-b-base.txt": "lock of old",
        "matrix.toml": MATRIX_TOML.replace("b = ", 'b-base = { interface = "wsgi" }\nb = '),
    }


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_what_cannot_be_finished(
    project: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def write_file(path: Path, data: str) -> None:
        raise error

    monkeypatch.setattr(new_entry, "write_file", write_file)
    before = files(project)
    expected = UserError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        scaffold("framework", "new", "asgi")
    with pytest.raises(expected):
        add_baseline("framework", "b", Path("old"))
    assert files(project) == before
    assert {path.name for path in project.glob("frameworks/*")} == {"b"}
