"""The settings of .env: their names, allowed values and effective values.

An exported variable overrides .env. LOCAL_NAME in services/.env, which scripts/setup.sh writes if the registry
cannot be reached, overrides both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from bench.core.errors import UserError
from bench.core.tables import table_beside

Allowed = tuple[str, str]
"""A pattern of values, and what it allows in words."""


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """What settings.toml says; a text is the name of a kind."""

    kinds: Mapping[str, Allowed]
    settings: Mapping[str, str | Allowed]
    knobs: Mapping[str, str | Allowed]


@cache
def allowed(table: Literal["settings", "knobs"]) -> Mapping[str, Allowed]:
    """The values of each setting, or of some knobs of --vary."""
    known = table_beside(__file__, AllowedValues)
    entries: Mapping[str, str | Allowed] = getattr(known, table)
    return {name: known.kinds[kind] if isinstance(kind, str) else kind for name, kind in entries.items()}


def read_env(path: Path) -> dict[str, str]:
    """The KEY=VALUE lines of a dotenv file; empty if there is no file, UserError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    lines = (line.strip() for line in text.split("\n"))
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}


def read_settings(
    environ: Mapping[str, str], root: Path = Path(), then: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The value of every setting; UserError for a value that is not allowed. `then` overrides values of .env."""
    local, dotenv = read_env(root / "services/.env"), read_env(root / ".env") | dict(then or {})
    settings = {}
    for name, (pattern, words) in allowed("settings").items():
        value = environ.get(name) or dotenv.get(name, "")
        if not re.fullmatch(pattern, value, re.ASCII):
            raise UserError(f"{name}={value!r} is not {words}; fix it in .env or the environment")
        settings[name] = local.get(f"LOCAL_{name}", value)
    return settings
