"""A new entry: a folder and a line in services/matrix.toml; both are written, or neither."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix import new_entry
from bench.matrix.new_entry import scaffold, with_entry

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


TEXT = """\
# a head
schema = 1

[servers] # what serves
one = { a = 1 }   # the first

# why two is here
two = { b = ["x",
  "[frameworks]", # not a header
] }

# of the next table
[frameworks]
one = { interface = "asgi" }
"""


@pytest.mark.parametrize(
    ("text", "table", "line", "edited"),
    [
        (TEXT, "servers", "three = { c = 1 }", TEXT.replace("] }\n\n", "] }\nthree = { c = 1 }\n\n")),
        # The name may exist in another table.
        (TEXT, "frameworks", "two = 2", TEXT + "two = 2\n"),
        ("[t]\na = 1", "t", "b = 2", "[t]\na = 1\nb = 2\n"),
        ("[t]\r\na = 1\r\n\r\n[u]\r\n", "t", "b = 2", "[t]\r\na = 1\r\nb = 2\r\n\r\n[u]\r\n"),
        ("[t]\n\n[u]\nx = 1\n", "t", "b = 2", "[t]\nb = 2\n\n[u]\nx = 1\n"),
    ],
)
def test_a_line_comes_after_the_last_entry_of_its_table(text: str, table: str, line: str, edited: str) -> None:
    name, _, value = line.partition(" = ")
    assert with_entry(text, table, name, value) == edited


@pytest.mark.parametrize("table", ["servers", "frameworks", "presets.quick", "routes"])
def test_the_projects_own_list_keeps_every_other_byte(table: str) -> None:
    text = (ROOT / "services/matrix.toml").read_text()
    if "." in table:
        with pytest.raises(UserError, match="has no table"):
            with_entry(text, table, "newcomer", "1")
        return
    edited = with_entry(text, table, "newcomer", "{ x = 1 }")
    lines = edited.splitlines(keepends=True)
    place = lines.index("newcomer = { x = 1 }\n")
    assert "".join(lines[:place] + lines[place + 1 :]) == text
    assert list(tomllib.loads(edited)[table])[-1] == "newcomer"


@pytest.mark.parametrize(
    ("text", "table", "message"),
    [
        (TEXT, "servers", "services/matrix.toml already has 'one' in [servers]"),
        ("[other]\n", "servers", "services/matrix.toml has no table [servers]"),
        ("servers = 1\n", "servers", "services/matrix.toml has no table [servers]"),
        ("[[servers]]\n", "servers", "services/matrix.toml has no table [servers]"),
        ("[servers\n", "servers", "services/matrix.toml is not valid TOML"),
        # A table without its own header.
        ("[servers.a]\nx = 1\n", "servers", "add the line by hand: one = {}"),
        ('text = """\n[servers]\n"""\n[ "servers" ]\n', "servers", "add the line by hand: one = {}"),
    ],
)
def test_what_cannot_be_edited_is_one_line(text: str, table: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        with_entry(text, table, "one", "{}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
