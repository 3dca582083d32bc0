"""A line more in services/matrix.toml: where it goes, and that nothing else changes."""

from __future__ import annotations

import tomllib

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.edit import with_entry

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


def test_a_line_comes_after_the_last_entry_of_its_table() -> None:
    edited = with_entry(TEXT, "servers", "three", "{ c = 1 }")
    assert edited == TEXT.replace("] }\n\n", "] }\nthree = { c = 1 }\n\n")
    assert with_entry(TEXT, "frameworks", "two", "2") == TEXT + "two = 2\n"


def test_a_name_may_be_in_another_table() -> None:
    assert tomllib.loads(with_entry(TEXT, "frameworks", "two", "{}"))["frameworks"].keys() == {"one", "two"}


def test_no_newline_at_the_end_and_the_endings_of_windows() -> None:
    assert with_entry("[t]\na = 1", "t", "b", "2") == "[t]\na = 1\nb = 2\n"
    assert with_entry("[t]\r\na = 1\r\n\r\n[u]\r\n", "t", "b", "2") == "[t]\r\na = 1\r\nb = 2\r\n\r\n[u]\r\n"
    assert with_entry("[t]\n\n[u]\nx = 1\n", "t", "b", "2") == "[t]\nb = 2\n\n[u]\nx = 1\n"


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
        # A table without a header of its own.
        ("[servers.a]\nx = 1\n", "servers", "add the line by hand: one = {}"),
        ('text = """\n[servers]\n"""\n[ "servers" ]\n', "servers", "add the line by hand: one = {}"),
    ],
)
def test_what_cannot_be_edited_is_one_line(text: str, table: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        with_entry(text, table, "one", "{}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
