"""services/matrix.toml edited as text: one more entry in a table, and every other byte as it was."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from bench.core.errors import UserError
from bench.matrix.load import MATRIX

HEADER = re.compile(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(#.*)?$")


def with_entry(text: str, table: str, name: str, value: str) -> str:
    """`text` with the line `name = value` at the end of a table.

    UserError where the table is missing, the name is taken, or the line would not be what it is meant to be.
    """
    if name in _table(text, table):
        raise UserError(f"{MATRIX} already has '{name}' in [{table}]")
    lines = text.splitlines(keepends=True)
    last = 0
    for index in _body(lines, table):
        line = lines[index].strip()
        if line and not line.startswith("#"):
            last = index
    ending = "\r\n" if lines[last].endswith("\r\n") else "\n"
    if not lines[last].endswith("\n"):
        lines[last] += ending
    lines.insert(last + 1, f"{name} = {value}{ending}")
    edited = "".join(lines)
    wanted = _data(text)
    wanted[table][name] = _data(f"value = {value}\n")["value"]
    if _data(edited) != wanted:
        raise UserError(f"cannot add '{name}' to [{table}] of {MATRIX}: add the line by hand: {name} = {value}")
    return edited


def _table(text: str, table: str) -> dict[str, Any]:
    found = _data(text).get(table)
    if not isinstance(found, dict):
        raise UserError(f"{MATRIX} has no table [{table}]; compare with `git diff {MATRIX}`")
    return found


def _data(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{MATRIX} is not valid TOML: {error}; fix that line, or `git checkout {MATRIX}`") from error


def _body(lines: list[str], table: str) -> range:
    """The lines of a table, its header first."""
    headers = [(index, found[1].strip()) for index, line in enumerate(lines) if (found := HEADER.match(line))]
    for position, (index, name) in enumerate(headers):
        if name == table:
            after = headers[position + 1][0] if position + 1 < len(headers) else len(lines)
            return range(index, after)
    return range(0)
