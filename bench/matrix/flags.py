"""Extra flags of servers, `--flags 'SERVER: FLAGS'`: a knob whose values are words for the end of the command line.

Of two values of a flag, all these servers take the last one, so the words prevail over those of `start`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from bench.core.errors import UserError
from bench.core.tables import table_beside

FLAGS, NONE = "FLAGS", "none"
"""The knob, and its value for services without extra flags. Any other value is words as a shell quotes them."""
ARGUMENTS = '"$@"'
"""How a start script passes the words on."""
LONGEST = 400
"""The most characters of a value."""
_FLAG = re.compile(r"--?[A-Za-z][\w-]*", re.ASCII)
_FED = re.compile(r'(?<![\w-])(--[a-z][a-z-]*)[= ]"?[^"\s]*?\$[({$]*([A-Z_]+)')
"""A flag of a start script whose value comes from a variable."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The flags of a program that are not for users; flags.toml says what each is."""

    needed: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)


@cache
def reserved() -> Mapping[str, Reserved]:
    """These flags by program."""
    return table_beside(__file__, dict[str, Reserved])


@dataclass(frozen=True, slots=True)
class Flags:
    """One --flags: a name or glob of servers, and their words as a shell quotes them."""

    servers: str
    value: str


def parse_flags(text: str) -> Flags:
    """The flags of an option such as `uvicorn: --http h11`; UserError if it is none."""
    servers, _, rest = (part.strip() for part in text.partition(":"))
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise UserError(f"--flags {text!r}: {error}: quote words as in a shell") from error
    if not servers or not words:
        raise UserError(f"--flags {text!r} is not 'SERVER: FLAGS', such as 'uvicorn: --http h11'")
    if not _FLAG.match(words[0]):
        raise UserError(f"--flags {servers}: {words[0]!r} is no flag")
    if not all(word and word.isprintable() for word in words) or "--" in words:
        raise UserError(f"--flags {servers}: a word is empty, unprintable or only '--'")
    if len(value := shlex.join(words)) > LONGEST:
        raise UserError(f"--flags {servers}: {len(value)} characters; the limit is {LONGEST}")
    return Flags(servers, value)


def flag_words(settings: Mapping[str, str]) -> list[str]:
    """The extra words of a service's command line, from its settings."""
    value = settings.get(FLAGS, NONE)
    return [] if value == NONE else shlex.split(value)


def flag_groups(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Each flag of a command line with its values, once; `--http=h11` as `--http h11`.

    Command lines of one program with equal groups say the same.
    """
    groups: list[list[str]] = [[]]
    for word in words:
        if _FLAG.match(word):
            flag, mark, value = word.partition("=")
            groups.append([flag, value] if mark else [flag])
        else:
            groups[-1].append(word)
    return tuple(dict.fromkeys(map(tuple, groups)))


def flags_refusal(script: str, words: Sequence[str]) -> str | None:
    """Why a start script cannot take these words; None if it can."""
    if ARGUMENTS not in script:
        return "it is started by a program of this project, which takes no flags"
    return next(_refusals(script, words), None)


def _refusals(script: str, words: Sequence[str]) -> Iterator[str]:
    command = script.replace("\\\n", " ").rpartition("\nexec ")[2]
    program = reserved().get(command.partition(" ")[0], Reserved())
    knobs = dict(_FED.findall(command))
    for flag in (match[0] for word in words if (match := _FLAG.match(word))):
        if not flag.startswith("--") and len(flag) > 2:
            yield f"{flag} may be several flags: give each as a word of its own, and its value as the next"
        full = program.spellings.get(flag, flag)
        # Some parsers take any unambiguous beginning of a flag.
        ours = {one for one in (*knobs, *program.needed) if one.startswith(full)}
        for harness_flag in sorted(ours)[:1] if full.startswith("--") else ():
            knob = knobs.get(harness_flag, "PORT")
            yield (
                f"the harness needs {harness_flag} as its start has it"
                if knob == "PORT"
                else f"{harness_flag} is what {knob} sets: use --vary {knob}=..."
            )
