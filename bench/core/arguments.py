"""Command-line parsing whose errors are one line."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from bench.core.errors import UserError


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises UserError with one line that points to the help, and never exits."""

    def __init__(self, prog: str, help_command: str = "", **options: Any) -> None:
        super().__init__(prog=prog, allow_abbrev=False, add_help=False, **options)
        self.help_command = help_command or f"scripts/{prog.split(maxsplit=1)[0]} --help"

    def error(self, message: str) -> NoReturn:  # noqa: D102
        raise UserError(f"{message}; see {self.help_command}")
