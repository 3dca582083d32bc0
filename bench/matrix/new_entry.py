"""Adds a server or framework to services/: a folder from a template, and a line in matrix.toml; both or neither."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.matrix.load import MATRIX
from bench.matrix.model import NAME

LINES = {
    "server-asgi": '{ serves = ["asgi"], style = "async", concurrent = true, model = "..." }',
    "server-wsgi": '{ serves = ["wsgi"], style = "sync", concurrent = false, model = "..." }',
    "framework-asgi": '{ interface = "asgi", lacks = { "*" = "not yet offered" } }',
    "framework-wsgi": '{ interface = "wsgi", lacks = { "*" = "not yet offered" } }',
}
"""template in services/templates (kind-interface) -> the value of its line"""
HEADER = re.compile(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(#.*)?$")


def scaffold(kind: str, name: str, interface: str) -> None:
    """Write the folder of a new server or framework and its line; UserError if that is not possible."""
    template, folder = f"{kind}-{interface}", Path("services", f"{kind}s", name)
    if not NAME.match(name):
        raise UserError(f"name '{name}' is not lower-case letters, digits and '-'")
    if template not in LINES:
        raise UserError(
            f"interface '{interface}' is neither asgi nor wsgi: start with one of them, then edit the line in {MATRIX}"
        )
    if folder.exists():
        raise UserError(f"there is already a {kind} '{name}': {folder}")
    edited = with_entry(_text(MATRIX), f"{kind}s", name, LINES[template])
    try:
        shutil.copytree(Path("services/templates", template), folder)
        for path in folder.iterdir():
            path.write_text(re.sub(r"\bNAME\b", name, _text(path)), encoding="utf-8")
        # Last, because it makes the folder an entry; if it fails, the folder is removed.
        write_file(MATRIX, edited)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise UserError(f"cannot write to services/: {error}") from error
        raise


def with_entry(text: str, table: str, name: str, value: str) -> str:
    """`text` with the line `name = value` at the end of a table, and every other byte unchanged.

    UserError if the table is missing, the name is taken, or the result would not parse as intended.
    """
    wanted = _data(text)
    if not isinstance(wanted.get(table), dict):
        raise UserError(f"{MATRIX} has no table [{table}]; compare with `git diff {MATRIX}`")
    if name in wanted[table]:
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
    wanted[table][name] = _data(f"value = {value}\n")["value"]
    if _data(edited) != wanted:
        raise UserError(f"cannot add '{name}' to [{table}] of {MATRIX}: add the line by hand: {name} = {value}")
    return edited


def _data(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{MATRIX} is not valid TOML: {error}; fix that line, or `git checkout {MATRIX}`") from error


def _body(lines: list[str], table: str) -> range:
    """The indices of a table's lines, starting with its header."""
    headers = [(index, found[1].strip()) for index, line in enumerate(lines) if (found := HEADER.match(line))]
    for position, (index, name) in enumerate(headers):
        if name == table:
            after = headers[position + 1][0] if position + 1 < len(headers) else len(lines)
            return range(index, after)
    return range(0)


def _text(path: Path) -> str:
    """The text of a file, with its line endings unchanged."""
    return path.read_bytes().decode()
