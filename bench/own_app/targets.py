"""The requests to an app, in vegeta's format: `METHOD /path`, headers, `@FILE` with the body, a blank line.

A comment before a target may set its weight (`# weight 3`) or name (`# name checkout`). For the load tools, a scenario
is a folder of the run: requests.lua for wrk, targets.txt for vegeta, `headers` of the first request, and body-N of the
N-th request if it has a body.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.core.errors import UserError
from bench.core.files import read_below, write_file

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MOST_TARGETS, MOST_WEIGHT, MOST_BODY = 50, 100, 4 << 20
OURS = ("content-length", "connection", "transfer-encoding")
"""Headers that the load tools write themselves."""
HOST = "Host"
"""They write it, too, with the name of the service, unless a target does: in this case, which wrk demands."""
LOCALHOST = (HOST, "localhost")
"""Unless its headers say otherwise, a request is for this host: apps that check it allow this one when they are new."""
_REQUEST = re.compile(r"([A-Z]+)\s+(\S+)\Z")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([\x20-\x7e]*)\Z")
_WEIGHT = re.compile(r"#\s*weight\s+(\S+)\s*\Z")
_NAME = re.compile(r"#\s*name\s+(\S+)\s*\Z")
_SCENARIO = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
MIX = "mix"
"""The scenario of all targets, each as often as its weight says."""


LOAD = "app/load"
ORIGIN = "http://ORIGIN"
"""Stands for the service in targets.txt."""


@dataclass(frozen=True, slots=True)
class Target:
    """A request; `name` is also the name of its scenario."""

    name: str
    method: str = "GET"
    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    weight: int = 1

    @property
    def title(self) -> str:
        """The method and path, to show."""
        return f"{self.method} {self.path}"


DEFAULT = Target("get-root", headers=(LOCALHOST,))


def is_redirect(status: int) -> bool:
    """Whether a response with this status is no page, but says where it is."""
    return status // 100 == 3


def read_targets(path: Path, shown: str) -> tuple[Target, ...]:
    """The targets of a file, which messages call `shown`; UserError for an invalid line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the targets in {shown}: {error}") from error
    return parse_targets(text, path.parent, shown)


def parse_targets(text: str, folder: Path, shown: str) -> tuple[Target, ...]:
    """The targets in a text; bodies are files relative to `folder`."""
    targets: list[Target] = []
    for number, lines in _groups(text):
        targets.append(_unique(_target(lines, folder, f"{shown}, line {number}"), targets))
    if not targets:
        raise UserError(f"{shown} has no target: write lines such as 'GET /products/1'")
    if len(targets) > MOST_TARGETS:
        raise UserError(f"{shown} has {len(targets)} targets; the limit is {MOST_TARGETS}")
    return tuple(targets)


def _groups(text: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """(number of the first line, lines) of each target; a blank line, comment or request line ends the one before."""
    group: list[tuple[int, str]] = []
    has_request = False
    for number, line in enumerate([*map(str.strip, text.splitlines()), ""], 1):
        if has_request and (not line or line.startswith("#") or _REQUEST.match(line)):
            yield group[0][0], group
            group, has_request = [], False
        if line:
            group.append((number, line))
            has_request |= not line.startswith("#")


def _target(lines: Sequence[tuple[int, str]], folder: Path, where: str) -> Target:
    name, weight = "", 1
    request_lines = [line for _, line in lines if not line.startswith("#")]
    for _, line in lines:
        if given := _NAME.match(line):
            name = given[1]
            if not _SCENARIO.match(name) or name == MIX:
                how = f"use lower-case letters, digits and '-' ('{MIX}' is taken)"
                raise UserError(f"{where}: '{name}' is not a name: {how}")
        if given := _WEIGHT.match(line):
            if not given[1].isdecimal() or not 1 <= int(given[1]) <= MOST_WEIGHT:
                raise UserError(f"{where}: weight '{given[1]}' is not a whole number from 1 to {MOST_WEIGHT}")
            weight = int(given[1])
    request = _REQUEST.match(request_lines[0])
    if not request or request[1] not in METHODS:
        how = "write METHOD and a URL path, such as GET /products/1"
        raise UserError(f"{where}: '{request_lines[0][:80]}' is not a target: {how}")
    path = _path(request[2], where)
    headers, body = [], None
    for line in request_lines[1:]:
        if line.startswith("@"):
            body = _body(folder, line, where)
        elif header := _HEADER.match(line):
            if header[1].lower() in OURS:
                raise UserError(f"{where}: the load tools write the header {header[1]} themselves: remove it")
            name_of_header = HOST if header[1].lower() == HOST.lower() else header[1]
            headers.append((name_of_header, header[2].strip()))
        else:
            raise UserError(f"{where}: '{line[:80]}' is neither a header (Name: value) nor a body (@FILE)")
    if HOST not in dict(headers):
        headers.append(LOCALHOST)
    return Target(name or slug(request[1], path), request[1], path, tuple(headers), body, weight)


def _path(url: str, where: str) -> str:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    sendable = path.startswith("/") and path.isascii() and path.isprintable() and " " not in path
    if (parts.scheme and parts.scheme not in ("http", "https")) or not sendable:
        raise UserError(f"{where}: '{url[:80]}' is not a URL path: it must begin with '/' and be percent-encoded")
    return path


def _body(folder: Path, line: str, where: str) -> bytes:
    try:
        return read_below(folder, line[1:].strip(), MOST_BODY)
    except OSError as error:
        raise UserError(f"{where}: cannot read the body {line}: {error.strerror or error}") from error


def slug(method: str, path: str) -> str:
    """The name of a request that has none."""
    words = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "root"
    return f"{method.lower()}-{words}"[:40].rstrip("-")


def _unique(target: Target, others: Sequence[Target]) -> Target:
    taken, number = {other.name for other in others}, 2
    name = target.name
    while name in taken:
        name, number = f"{target.name}-{number}", number + 1
    return replace(target, name=name)


def folder_of(scenario: str) -> str:
    """The folder of a scenario, relative to the run's."""
    return f"{LOAD}/{scenario}"


def write_load_files(run: Path, scenario: str, targets: Sequence[Target]) -> None:
    """Write the files of a scenario with these requests."""
    folder = run / folder_of(scenario)
    folder.mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(targets, 1):
        if target.body is not None:
            write_file(folder / f"body-{number}", target.body)
    write_file(folder / "headers", "".join(f"{name}: {value}\n" for name, value in headers_of(targets[0])))
    write_file(folder / "requests.lua", lua_script(targets))
    write_file(folder / "targets.txt", vegeta_targets(targets, str(folder)))


def lua_script(targets: Sequence[Target]) -> str:
    """The text of requests.lua."""
    return _rendered("requests.lua.jinja", targets)


def vegeta_targets(targets: Sequence[Target], folder: str) -> str:
    """The text of targets.txt, in vegeta's format; vegeta's command replaces `ORIGIN` with the service's address."""
    return _rendered("targets.txt.jinja", targets, folder=folder, origin=ORIGIN)


def _rendered(name: str, targets: Sequence[Target], **more: str) -> str:
    from bench.core.templates import environment

    made = environment(Path(__file__).parent)
    made.filters["lua"] = _lua
    return made.get_template(name).render(targets=targets, order=order(targets), headers_of=headers_of, **more)


def headers_of(target: Target) -> tuple[tuple[str, str], ...]:
    """Its headers. Every tool sends a body without a Content-Type as JSON."""
    if target.body is None or any(name.lower() == "content-type" for name, _ in target.headers):
        return target.headers
    return (*target.headers, ("Content-Type", "application/json"))


def order(targets: Sequence[Target]) -> list[int]:
    """The numbers of the targets, each as often as its weight says and evenly spread (smooth weighted round robin)."""
    divisor = math.gcd(*(one.weight for one in targets))
    weights = [one.weight // divisor for one in targets]
    credit, numbers = [0] * len(weights), []
    for _ in range(sum(weights)):
        credit = [have + weight for have, weight in zip(credit, weights, strict=True)]
        best = credit.index(max(credit))
        credit[best] -= sum(weights)
        numbers.append(best + 1)
    return numbers


def _lua(text: str) -> str:
    """A Lua string; non-printable bytes become decimal escapes."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03d}" for b in text.encode())
    return f'"{plain}"'
