"""The options of a script."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from difflib import get_close_matches
from typing import Any, NoReturn

from driver.failure import USER, Failure


class Parser(ArgumentParser):
    """A parser whose errors are one line, as those of the scripts (`fail_unknown` in scripts/lib/common.sh)."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog=prog, allow_abbrev=False, add_help=False, **options)

    def error(self, message: str) -> NoReturn:
        """Failure; the help of an option says what it needs."""
        if match := re.match(r"argument (--\S+): expected ", message):
            needed = self._option_string_actions[match[1]].help or "a value; see --help"
            raise Failure(USER, f"{match[1]} needs {needed}")
        if match := re.match(r"unrecognized arguments: ([^\s=]+)", message):
            options = [option.strip("-") for option in self._option_string_actions]
            near = get_close_matches(match[1].strip("-"), options, 1)
            meant = f" did you mean --{near[0]}?" if near else ""
            raise Failure(USER, f"unknown argument '{match[1]}';{meant} see --help")
        raise Failure(USER, f"{message}; see --help")


def given(text: str) -> str:
    """Argument type: a text that is neither empty nor an option, which Python 3.13 takes for one of several values."""
    if not text or text.startswith("--"):
        raise ArgumentTypeError("expected a value")
    return text
