"""A new entry is written whole, or nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from bench.matrix import new_entry
from bench.matrix.new_entry import scaffold

MATRIX_TOML = '[servers]\na = { x = 1 }\n\n[frameworks]\nb = { interface = "asgi" }\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a template and a framework `b`."""
    for name, text in {
        "matrix.toml": MATRIX_TOML,
        "templates/framework-asgi/app.py": "NAME is NAME, NAMES are not",
        "frameworks/b/app.py": "app",
    }.items():
        path = tmp_path / "services" / name
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
    assert files(project) == before
    assert {path.name for path in project.glob("frameworks/*")} == {"b"}
