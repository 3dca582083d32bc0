"""What a server's start script executes, read from its text and not from a running process.

Any code in a service can rewrite the title of its process, so a title says nothing about how to start a server. Our
start scripts end in one `exec` of a program, with few kinds of expansions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from bench.core.errors import UserError
from bench.matrix.flags import ARGUMENTS
from bench.matrix.start_command import START

_OPTIONAL = re.compile(r"\$\{(\w+):([+-])([^{}]*)\}")


def start_words(script: str, environment: Mapping[str, str], flags: Sequence[str] = ()) -> list[str]:
    """The arguments that the script executes with these variables and extra flags; itself if it is a Python program.

    UserError if it has other expansions than ${NAME:+WORDS}, ${NAME:-WORDS}, $((NUMBER / NAME)), $(command -v NAME) and
    $NAME, and "$@" at the end, or if a value has other characters than the settings of servers have.
    """
    if not script.startswith("#!/bin/sh"):
        return ["python3", START]

    def value(name: str) -> str:
        word = environment.get(name, "")
        if not re.fullmatch(r"[\w.:/+-]*", word, re.ASCII):
            raise UserError(f"{name}={word!r} is not one word")
        return word

    def optional(part: re.Match[str]) -> str:
        name, how, words = part.groups()
        return words if (how == "+") == bool(value(name)) else value(name)

    text = script.replace("\\\n", " ").rpartition("\nexec ")[2].strip().removesuffix(ARGUMENTS)
    while _OPTIONAL.search(text):
        text = _OPTIONAL.sub(optional, text)
    text = re.sub(r"\$\(\((\d+) / (\w+)\)\)", lambda part: str(int(part[1]) // int(value(part[2]))), text)
    text = re.sub(r"\$(\w+)", lambda part: value(part[1]), re.sub(r"\$\(command -v ([\w-]+)\)", r"\1", text))
    if re.search(r"[$`;|&<>\n]", re.sub(r"'[^']*'", "", text.strip())):
        raise UserError(f"cannot be told from the script: {text.strip()}")
    return [*shlex.split(text), *flags]
