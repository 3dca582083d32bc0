"""A new server or framework in services/: its folder, its locks, and its line in matrix.toml, or nothing of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.matrix.edit import with_entry
from bench.matrix.load import MATRIX
from bench.matrix.service import NAME

LINES = {
    "server-asgi": '{ serves = ["asgi"], style = "async", concurrent = true, model = "..." }',
    "server-wsgi": '{ serves = ["wsgi"], style = "sync", concurrent = false, model = "..." }',
    "framework-asgi": '{ interface = "asgi", lacks = { "*" = "not yet offered" } }',
    "framework-wsgi": '{ interface = "wsgi", lacks = { "*" = "not yet offered" } }',
}
"""template in services/templates (kind-interface) -> the value of its line"""


def scaffold(kind: str, name: str, interface: str) -> None:
    """Write the folder of a new server or framework from its template, and its line."""
    template, folder = f"{kind}-{interface}", folder_of(kind, name)
    if template not in LINES:
        raise UserError(
            f"interface '{interface}' is neither asgi nor wsgi: start with one of them, then edit the line in {MATRIX}"
        )
    if folder.exists():
        raise UserError(f"there is a {kind} '{name}' already: {folder}")
    edited = with_entry(_text(MATRIX), f"{kind}s", name, LINES[template])
    with _all_or_nothing([folder]):
        shutil.copytree(Path("services/templates", template), folder)
        for path in folder.iterdir():
            path.write_text(re.sub(r"\bNAME\b", name, _text(path)), encoding="utf-8")
        write_file(MATRIX, edited)


def folder_of(kind: str, name: str) -> Path:
    """Where a server or framework has its files; UserError where that is no name for one."""
    if not NAME.match(name):
        raise UserError(f"name '{name}' is not lower-case letters, digits and '-'")
    return Path("services", f"{kind}s", name)


def _text(path: Path) -> str:
    """The file, with its line endings as they are."""
    return path.read_bytes().decode()


@contextmanager
def _all_or_nothing(paths: Sequence[Path]) -> Iterator[None]:
    """What is written to these paths is removed again if anything fails; the last write is that of matrix.toml."""
    try:
        yield
    except BaseException as error:
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UserError(f"cannot write to services/: {error}") from error
        raise
