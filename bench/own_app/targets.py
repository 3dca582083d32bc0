"""The requests to an app, in vegeta's own format: `METHOD /path`, headers, `@FILE` with the body, a blank line.

A comment before a target may give it a weight (`# weight 3`) or a name (`# name checkout`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.core.errors import UserError

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MOST_TARGETS, MOST_WEIGHT, MOST_BODY = 50, 100, 4 << 20
OURS = ("host", "content-length", "connection", "transfer-encoding")
"""Headers that the load tools write themselves."""
_REQUEST = re.compile(r"([A-Z]+)\s+(\S+)\Z")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([\x20-\x7e]*)\Z")
_WEIGHT = re.compile(r"#\s*weight\s+(\S+)\s*\Z")
_NAME = re.compile(r"#\s*name\s+(\S+)\s*\Z")
_SCENARIO = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
MIX = "mix"
"""The scenario of several targets, each as often as its weight says."""


@dataclass(frozen=True, slots=True)
class Target:
    """One request; `name` is its scenario's."""

    name: str
    method: str = "GET"
    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    weight: int = 1

    @property
    def title(self) -> str:
        """The request in words."""
        return f"{self.method} {self.path}"


DEFAULT = Target("get-root")


def read_targets(path: Path, shown: str) -> tuple[Target, ...]:
    """The targets of a file, whose name in messages is `shown`; UserError for a line that is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the targets in {shown}: {error}") from error
    return parse_targets(text, path.parent, shown)


def parse_targets(text: str, folder: Path, shown: str) -> tuple[Target, ...]:
    """The targets of a text; bodies are files relative to `folder`."""
    found: list[Target] = []
    for number, lines in _groups(text):
        found.append(_unique(_target(lines, folder, f"{shown}, line {number}"), found))
    if not found:
        raise UserError(f"{shown} has no target: write lines such as 'GET /products/1'")
    if len(found) > MOST_TARGETS:
        raise UserError(f"{shown} has {len(found)} targets: {MOST_TARGETS} at most")
    return tuple(found)


def _groups(text: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """(number of the first line, lines) of each target: a line with a method begins one, as a blank line does."""
    group: list[tuple[int, str]] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        begins = not line or (any(not one.startswith("#") for _, one in group) and _is_new(line))
        if begins and any(not one.startswith("#") for _, one in group):
            yield group[0][0], group
            group = []
        if line:
            group.append((number, line))
    if any(not line.startswith("#") for _, line in group):
        yield group[0][0], group


def _is_new(line: str) -> bool:
    return line.startswith("#") or bool(_REQUEST.match(line))


def _target(lines: Sequence[tuple[int, str]], folder: Path, where: str) -> Target:
    name, weight = "", 1
    rest = [line for _, line in lines if not line.startswith("#")]
    for _, line in lines:
        if given := _NAME.match(line):
            name = given[1]
            if not _SCENARIO.match(name) or name == MIX:
                raise UserError(
                    f"{where}: '{name}' is not a name: lower-case letters, digits and '-' ('{MIX}' is taken)"
                )
        if given := _WEIGHT.match(line):
            if not given[1].isdecimal() or not 1 <= int(given[1]) <= MOST_WEIGHT:
                raise UserError(f"{where}: weight '{given[1]}' is not a whole number from 1 to {MOST_WEIGHT}")
            weight = int(given[1])
    request = _REQUEST.match(rest[0])
    if not request or request[1] not in METHODS:
        raise UserError(
            f"{where}: '{rest[0][:80]}' is not a target: write METHOD and a URL path, such as GET /products/1"
        )
    path = _path(request[2], where)
    headers, body = [], None
    for line in rest[1:]:
        if line.startswith("@"):
            body = _body(folder / line[1:].strip(), line, where)
        elif header := _HEADER.match(line):
            if header[1].lower() in OURS:
                raise UserError(f"{where}: the load tools write the header {header[1]} themselves: remove it")
            headers.append((header[1], header[2].strip()))
        else:
            raise UserError(f"{where}: '{line[:80]}' is neither a header (Name: value) nor a body (@FILE)")
    return Target(name or slug(request[1], path), request[1], path, tuple(headers), body, weight)


def _path(url: str, where: str) -> str:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if (parts.scheme and parts.scheme not in ("http", "https")) or not path.startswith("/") or not path.isascii():
        raise UserError(f"{where}: '{url[:80]}' is not a URL path: it begins with '/' and is percent-encoded")
    return path


def _body(path: Path, line: str, where: str) -> bytes:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UserError(f"{where}: cannot read the body {line}: {error.strerror}") from error
    if len(body) > MOST_BODY:
        raise UserError(f"{where}: the body {line} has more than {MOST_BODY >> 20} MiB")
    return body


def slug(method: str, path: str) -> str:
    """The name of a request without one."""
    words = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "root"
    return f"{method.lower()}-{words}"[:40].rstrip("-")


def _unique(target: Target, others: Sequence[Target]) -> Target:
    taken, number = {other.name for other in others}, 2
    name = target.name
    while name in taken:
        name, number = f"{target.name}-{number}", number + 1
    return replace(target, name=name)
