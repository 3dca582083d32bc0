"""Reads services/listeners.toml: the socket options of each server's own bind, and where and why services differ."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError

LISTENERS = Path("services/listeners.toml")


@dataclass(frozen=True, slots=True)
class Differs:
    """A socket option that our service sets differently from the server's own bind, and why."""

    is_: int | str
    """A number, or the name of a setting (`$BACKLOG`)."""
    why: str
    several: bool = False
    """Whether this is only so with several workers."""


@dataclass(frozen=True, slots=True)
class OwnBind:
    """How a server is started by itself, the options of its listening socket then, and where our services differ."""

    start: str
    options: Mapping[str, int]
    differs: Mapping[str, Differs]

    def wanted(self, settings: Mapping[str, str]) -> dict[str, int]:
        """The expected options of a service's socket; ValueError if a setting that one names is not a number."""
        several = settings.get("WORKERS", "1") != "1"
        named = {name: one.is_ for name, one in self.differs.items() if several or not one.several}
        return {name: _number(named.get(name, own), settings) for name, own in self.options.items()}


def _number(value: int | str, settings: Mapping[str, str]) -> int:
    return value if isinstance(value, int) else int(settings.get(value.removeprefix("$"), ""))


def load_listeners(path: Path = LISTENERS) -> dict[str, OwnBind]:
    """The table, by server; UserError with the file and what is wrong in it."""
    try:
        return parse_listeners(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run from the project's folder") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a valid table: {detail}; see `git diff {path}`") from error


def parse_listeners(text: str) -> dict[str, OwnBind]:
    """The table in `text`; KeyError, TypeError or ValueError if a key is missing or a value is wrong."""
    data = tomllib.loads(text)
    shared = _differs(data["every"])
    return {name: _own_bind(one, shared) for name, one in data["servers"].items()}


def with_own(text: str, read: Mapping[str, Mapping[str, int]]) -> str:
    """`text` with `own` of these servers replaced by the options that were read; everything else is unchanged."""
    lines, server = [], ""
    for line in text.splitlines():
        table = re.match(r"\[servers\.([a-z0-9-]+)\]$", line)
        server = table[1] if table else server
        options = read.get(server) if line.startswith("own = ") else None
        lines.append(line if options is None else f"own = {{{', '.join(f'{k}={v}' for k, v in options.items())}}}")
    return "\n".join(lines) + "\n"


def _own_bind(table: Mapping[str, Any], shared: Mapping[str, Differs]) -> OwnBind:
    options = table["own"]
    if not isinstance(table["start"], str) or not all(type(value) is int for value in options.values()):
        raise ValueError("a server needs `start`, a command, and `own`, a number for each option")
    differs = {name: value for name, value in shared.items() if name in options} | _differs(table.get("ours", {}))
    unknown = sorted(differs.keys() - options.keys())
    if unknown and options:
        raise ValueError(f"no option is called {', '.join(unknown)}")
    return OwnBind(table["start"], options, differs)


def _differs(table: Mapping[str, Any]) -> dict[str, Differs]:
    differs = {name: Differs(value["is"], value["why"], value.get("several", False)) for name, value in table.items()}
    for name, value in differs.items():
        if not isinstance(value.is_, (int, str)) or not value.why.strip():
            raise ValueError(f"{name} needs `is`, a number or a setting, and `why`, the reason")
    return differs
