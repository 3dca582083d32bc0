"""A new entry: a folder, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from bench.matrix.new_entry import scaffold


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a template and a framework `b`."""
    for name, text in {
        "templates/framework-asgi/app.py": "NAME is NAME, NAMES are not",
        "templates/framework-asgi/framework.toml": 'interface = "asgi"',
        "frameworks/b/app.py": "app",
    }.items():
        path = tmp_path / "services" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "services"


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_scaffold_is_its_template_with_the_name(project: Path) -> None:
    before = files(project)
    scaffold("framework", "new", "asgi")
    made = {"app.py": "new is new, NAMES are not", "framework.toml": 'interface = "asgi"'}
    assert files(project) == before | {f"frameworks/new/{name}": text for name, text in made.items()}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_unfinished_entry_is_removed(project: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def write_text(path: Path, data: str, **options: str) -> None:
        assert [*project.glob("frameworks/*")] == [project / "frameworks/b"]
        raise error

    monkeypatch.setattr(Path, "write_text", write_text)
    before = files(project)
    with pytest.raises(UserError if isinstance(error, OSError) else KeyboardInterrupt):
        scaffold("framework", "new", "asgi")
    assert files(project) == before
    assert {path.name for path in project.iterdir()} == {"templates", "frameworks"}
