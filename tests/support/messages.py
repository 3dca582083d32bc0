"""Messages of commands, from messages.toml."""

import tomllib
from pathlib import Path

MESSAGES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
