"""Texts by name, from texts.toml: names in prose, and sentences, whose `{}` are filled in where they are said."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

TEXTS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SENTENCES = TEXTS["sentences"]
