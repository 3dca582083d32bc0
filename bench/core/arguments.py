"""Command-line parsing with one-line errors."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bench.core.errors import UserError, unknown


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises a one-line UserError pointing to the help, instead of exiting."""

    def __init__(self, prog: str, help_command: str = "", **options: Any) -> None:
        super().__init__(prog=prog, allow_abbrev=False, add_help=False, **options)
        self.help_command = help_command or f"scripts/{prog.split(maxsplit=1)[0]} --help"

    def error(self, message: str) -> NoReturn:  # noqa: D102
        match = re.match(r"unrecognized arguments: (--?[^\s=]+)", message)
        # An option that the script has may still be wrong here, such as --preset with --resume: no "unknown option".
        if match and match[1] not in (options := self._options()):
            raise unknown("option", match[1], options, self.help_command)
        raise UserError(f"{message}; see {self.help_command}")

    def _options(self) -> list[str]:
        """The options in the script's help; the script may handle some itself and pass others that are internal."""
        try:
            script = Path(self.help_command.split()[0]).read_text(encoding="utf-8")
        except OSError:
            return list(self._option_string_actions)
        return re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", "\n".join(re.findall(r"^#.*", script, re.MULTILINE)))


def words_of(argv: Sequence[str], usage: str) -> Sequence[str]:
    """`argv` if it matches the usage of a verb without options (such as `turns ready|load RUN`), else UserError."""
    wanted = usage.split()[1:]
    given = zip(argv, wanted, strict=False)
    if len(argv) != len(wanted) or any("|" in name and word not in name.split("|") for word, name in given):
        raise UserError(f"usage: python3 -m bench {usage}")
    return argv


def number(text: str) -> float:
    """Argument type: a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def minutes_as_seconds(text: str) -> float:
    """Argument type: a positive number of minutes, converted to seconds."""
    minutes = number(text)
    if not 0 < minutes < 100_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes above 0")
    return minutes * 60
