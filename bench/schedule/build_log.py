"""What the log of a failed build or start names as its cause, and which Debian packages (`--apt`) would mend it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.core.formats import printable
from bench.schedule.finished import LONGEST

STEP = re.compile(r"^(?:#\d+ )?\d+\.\d+ +", re.MULTILINE)
"""What BuildKit writes before each line of a step: the step's number, if it does not repeat the line, and its time."""

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SIGNS = tuple((re.compile(sign, re.ASCII), thing) for sign, thing in _TABLES["signs"])
PACKAGES: Mapping[str, str] = _TABLES["packages"]
TOLD_CAUSE = re.compile("|".join(_TABLES["causes"]))

COMPILERS = {"gcc", "g++", "cargo", "clang", "build-essential"}
FAILED = re.compile(
    r"(?:Failed to (?:download and )?build|Failed building wheel for) [`'\"]?"
    r"(?!installable wheels|one or more|file:)([A-Za-z0-9][\w.-]{0,99})"
)
"""Words of uv and pip about a package that they could not build."""
COLLECTED = re.compile(r"Collecting ([A-Za-z0-9][\w.-]{0,99})==")
"""What pip prints before it asks a package what its build needs; if that fails, it names none."""
EXITED = "subprocess-exited-with-error"
NOT_BUILT = re.compile(r"No space left|No matching distribution|Connection (?:refused|reset)|name resolution")
"""Words about a build that failed for a reason that is not the package's."""
UNKNOWN = re.compile(
    r"E: (?:Unable to locate package ([a-z0-9.+-]{1,99})|Package '([a-z0-9.+-]{1,99})' has no installation candidate)"
)
"""Words of apt-get."""
FILE = re.compile(r"\.(h|hh|hpp|pc)$|\.so(\.|$)")
"""Of what is missing, files that Debian's index knows; programs may be anything."""

SUMMARY = re.compile(r"This error originates|exited-with-error|did not run successfully|did not complete successfully")
"""Lines with an error that are no cause."""


def build_error(log: str) -> str:
    """The first log line of the build step that failed that names a cause, else its last one, else the last error.

    BuildKit repeats the end of the log of that step at the end, each line after its time; before, all lines have the
    step's number.
    """
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    own = [line for line in repeated if not SUMMARY.search(line)]
    errors = [line for line in log.splitlines() if "error" in line.lower() and not line.startswith("--")]
    found = [*(own or repeated)[::-1], *errors[::-1]]
    return build_cause(log) or (printable(found[0])[:LONGEST] if found else "")


def build_cause(log: str) -> str:
    """The first log line of a build that names a cause, after the package that it is about; empty if none does."""
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    every = re.findall(r"^#\d+ \d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    lines = (line.strip(" \t│╰─>×") for line in (*repeated, *every))
    cause = next((line for line in lines if TOLD_CAUSE.search(line) or any(_missing(line))), "")
    if unknown := UNKNOWN.search(cause):
        return f"Debian has no package '{unknown[1] or unknown[2]}'"
    failed = _failed(log)
    what = f"{failed[0]}: " if cause and failed and failed[0] not in cause else ""
    return f"{what}{printable(cause)}"[:LONGEST]


def with_advice(words: str, log: str, given: Sequence[str], otherwise: str = "", *, of_folder: bool = False) -> str:
    """`words`, then what to give, as far as the log of a build or a start says what is missing.

    `given`: the Debian packages that were installed; `otherwise`: what to do if the log does not tell. `of_folder`:
    whether packages of the app's folder were built, which have no wheel anywhere.
    """
    unknown = {name for found in UNKNOWN.findall(log) for name in found if name}
    text = STEP.sub("", log)
    ways = [_debian(text, given), "" if of_folder else _other_python(text)]
    advice = "correct --apt" if unknown & {*given} else ", or ".join(filter(None, ways)) or otherwise
    return f"{words.rstrip('. ')}: {advice}" if advice else words


def _failed(log: str) -> list[str]:
    """The packages that could not be built."""
    before, exited, _ = log.partition(EXITED)
    return FAILED.findall(log) or (COLLECTED.findall(before)[-1:] if exited else [])


def _other_python(text: str) -> str:
    """That an older Python may need no build of a package: its version may be from before this Python."""
    names = [name for name in _failed(text) if name.lower().replace("_", "-") not in _TABLES["no_wheels"]]
    return f"give an older --python if {names[0]} has a wheel for that" if names and not NOT_BUILT.search(text) else ""


def _debian(text: str, given: Sequence[str]) -> str:
    missing = [*dict.fromkeys(_missing(text))]
    failed = [f"pypi:{name.lower().replace('_', '-')}" for name in _failed(text)] if missing else []
    wanted = dict.fromkeys(given)
    for thing in (*missing, *failed):
        wanted |= dict.fromkeys(_packages_with(thing))
    if not COMPILERS & wanted.keys() and any(name.endswith("-dev") for name in wanted.keys() - {*given}):
        wanted["gcc"] = None
    if len(wanted) > len(given):
        return f"{'give' if given else 'add'} --apt '{' '.join(wanted)}'"
    others = [thing for thing in missing if not _packages_with(thing)]
    return f"find the Debian package with {others[0]} on packages.debian.org, and add it with --apt" if others else ""


def _missing(text: str) -> Iterator[str]:
    """What SIGNS say is missing, in their order in the text: files, and programs that PACKAGES have."""
    found = ((match.start(), match.expand(thing)) for sign, thing in SIGNS for match in sign.finditer(text))
    for _, thing in sorted(found):
        if FILE.search(thing) or _packages_with(thing):
            yield thing


def _packages_with(thing: str) -> list[str]:
    return next((names.split() for names, things in PACKAGES.items() if re.fullmatch(things, thing)), [])
