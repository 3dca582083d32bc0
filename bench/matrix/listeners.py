"""Reads services/listeners.toml: the socket options of each server's own bind, and where a service's differ and why."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError

LISTENERS = Path("services/listeners.toml")
_OWN = re.compile(r"^own = .*$")
_TABLE = re.compile(r"^\[servers\.([a-z0-9-]+)\]$")


@dataclass(frozen=True, slots=True)
class Differs:
    """What an option of a service is instead of what the server's own bind has, and the reason."""

    is_: int | str
    """A number, or the name of a setting (`$BACKLOG`)."""
    why: str
    several: bool = False
    """Whether that is so with several workers alone."""


@dataclass(frozen=True, slots=True)
class OwnBind:
    """A server's own start, the socket options that it then has, and where its services' differ."""

    start: str
    options: Mapping[str, int]
    differs: Mapping[str, Differs]
    waits: str = ""
    """Why its services wait on a route that waits for nothing, if that is the server's own."""

    def wanted(self, settings: Mapping[str, str]) -> dict[str, int]:
        """What each option of a service has to be; ValueError where a setting that it names is no number."""
        several = settings.get("WORKERS", "1") != "1"
        named = {name: one.is_ for name, one in self.differs.items() if several or not one.several}
        return {name: _number(named.get(name, own), settings) for name, own in self.options.items()}


def _number(value: int | str, settings: Mapping[str, str]) -> int:
    return value if isinstance(value, int) else int(settings.get(value.removeprefix("$"), ""))


def load_listeners(path: Path = LISTENERS) -> dict[str, OwnBind]:
    """The table, by server; UserError that names the file and the fault in it."""
    try:
        return parse_listeners(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run from the project's folder") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a valid table: {detail}; see `git diff {path}`") from error


def parse_listeners(text: str) -> dict[str, OwnBind]:
    """The table of this text; KeyError, TypeError or ValueError where a key is missing or a value is wrong."""
    data = tomllib.loads(text)
    every = _differs(data["every"])
    return {name: _own_bind(one, every) for name, one in data["servers"].items()}


def with_own(text: str, read: Mapping[str, Mapping[str, int]]) -> str:
    """The text with `own` of these servers as it was read; everything else stays as it is."""
    lines, server = [], ""
    for line in text.splitlines():
        table = _TABLE.match(line)
        server = table[1] if table else server
        options = read.get(server) if _OWN.match(line) else None
        lines.append(line if options is None else f"own = {{ {', '.join(f'{k} = {v}' for k, v in options.items())} }}")
    return "\n".join(lines) + "\n"


def _own_bind(one: Mapping[str, Any], every: Mapping[str, Differs]) -> OwnBind:
    own = one["own"]
    if not isinstance(one["start"], str) or not all(type(value) is int for value in own.values()):
        raise ValueError("a server needs `start`, a command, and `own`, a number for each option")
    differs = {name: value for name, value in every.items() if name in own} | _differs(one.get("ours", {}))
    unknown = sorted(differs.keys() - own.keys())
    if unknown and own:
        raise ValueError(f"no option is called {', '.join(unknown)}")
    return OwnBind(one["start"], own, differs, one.get("waits", ""))


def _differs(table: Mapping[str, Any]) -> dict[str, Differs]:
    found = {name: Differs(value["is"], value["why"], value.get("several", False)) for name, value in table.items()}
    for name, value in found.items():
        if not isinstance(value.is_, (int, str)) or not value.why.strip():
            raise ValueError(f"{name} needs `is`, a number or a setting, and `why`, the reason")
    return found
