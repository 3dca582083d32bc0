"""Reads services/listeners.toml: the socket options of each server's own bind, and where and why services differ."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bench.core.errors import UserError
from bench.core.typed import read_as

LISTENERS = Path("services/listeners.toml")


class Differs(Struct, frozen=True, rename={"is_": "is"}):
    """A socket option that our service sets differently from the server's own bind, and why."""

    is_: int | str
    """A number, or the name of a setting (`$BACKLOG`)."""
    why: Annotated[str, Meta(pattern=r"\S")]
    several: bool = False
    """Whether this is only so with several workers."""


class OwnBind(Struct, frozen=True, rename={"options": "own", "differs": "ours"}):
    """How a server is started by itself, the options of its listening socket then, and where our services differ."""

    start: str
    options: dict[str, int]
    differs: dict[str, Differs] = {}

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
    shared = read_as(dict[str, Differs], data["every"], "every")
    binds = read_as(dict[str, OwnBind], data["servers"], "servers")
    for name, bind in binds.items():
        differs = {option: one for option, one in shared.items() if option in bind.options} | bind.differs
        if bind.options and (unknown := sorted(differs.keys() - bind.options.keys())):
            raise ValueError(f"no option is called {', '.join(unknown)}")
        binds[name] = replace(bind, differs=differs)
    return binds


def with_own(text: str, read: Mapping[str, Mapping[str, int]]) -> str:
    """`text` with `own` of these servers replaced by the options that were read; everything else is unchanged."""
    lines, server = [], ""
    for line in text.splitlines():
        table = re.match(r"\[servers\.([a-z0-9-]+)\]$", line)
        server = table[1] if table else server
        options = read.get(server) if line.startswith("own = ") else None
        lines.append(line if options is None else f"own = {{{', '.join(f'{k}={v}' for k, v in options.items())}}}")
    return "\n".join(lines) + "\n"
