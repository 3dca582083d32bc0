"""The names in an app's environment file. Its values stay where they are: no file of a run has them."""

from __future__ import annotations

import re
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.settings import SETTINGS

OURS = ("APP", "APP_INTERFACE", "PORT", "WORKERS", "BACKLOG", "PATH", "PYTHONPATH", "HOME", "FRAMEWORK", "SERVER")
"""What the harness and its server scripts set, beside all settings."""
PREFIXES = ("COMPOSE_", "DOCKER_", "BENCH_", "BUILDKIT_", "BUILDX_")
"""Names that the programs of the host act on."""
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=")


def variables(path: Path, shown: str) -> tuple[str, ...]:
    """The names that the file sets; UserError for a line that is none, or a name that is not the app's."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {shown}: {error}") from error
    names: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _LINE.match(text)
        if not found:
            raise UserError(f"{shown}, line {number} is not NAME=VALUE")
        if found[1] in OURS or found[1] in SETTINGS or found[1].startswith(PREFIXES):
            raise UserError(
                f"{shown}, line {number}: {found[1]} is set by the benchmark itself (see .env): remove it there"
            )
        names[found[1]] = None
    return tuple(names)
