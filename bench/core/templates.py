"""How every template of the project is read: a name that is not given is an error, a block leaves no line behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(folder: Path, **options: Any) -> Environment:
    """The templates of a folder; `options` are Jinja's own, such as `autoescape`."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
