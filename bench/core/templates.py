"""The Jinja environment of all templates: undefined names are errors, and block tags leave no blank lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(folder: Path, **options: Any) -> Environment:
    """The environment for the templates of a folder; `options` are Jinja's, such as `autoescape`."""
    options |= {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    return Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, **options)
