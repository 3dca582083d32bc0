"""The names that can be selected, from services/names.tsv (by scripts/generate.sh): known before anything is set up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from driver.failure import USER, Failure

KINDS = ("preset", "stack", "server", "framework", "python", "base", "tool")
"""Options that take names of a list, or globs. Only the planner can parse `delay-20`, `knee:p99=50ms` or `slow:1`."""
SELFTEST = "synthetic"
"""Stacks with this in their names are of self-tests, and in no list."""

Named = Mapping[str, str]
"""Names with their descriptions."""


def read_lists(root: Path) -> dict[str, dict[str, str]]:
    """The lists, such as `presets`."""
    lists: dict[str, dict[str, str]] = {}
    for line in (root / "services/names.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        what, name, words = line.split("\t")
        lists.setdefault(what, {})[name] = words
    return lists


def list_of(lists: Mapping[str, Named], what: str, selection: Sequence[str]) -> Named:
    """The list that `--list WHAT` prints; Failure if there is none, or if more is selected."""
    if what not in lists:
        raise Failure(USER, f"unknown list '{what}';{_meant(what, lists)} there are: {', '.join(lists)}")
    if selection:
        raise Failure(USER, f"--list {what} prints all names and takes no other option ({selection[0]})")
    return lists[what]


def names_in(selection: Sequence[str], lists: Mapping[str, Named]) -> dict[str, list[str]]:
    """What options of scripts/matrix.sh select, by list; Failure for a name that is not in it."""
    names: dict[str, list[str]] = {}
    default = "" if selection else "quick"
    words = iter(selection)
    for word in words:
        option, mark, value = word.partition("=")
        default = "bad-day" if option == "--event" else default
        if option.startswith("--") and option[2:] in KINDS:
            patterns = (value if mark else next(words, "")).split(",")
            names.setdefault(f"{option[2:]}s", []).extend(filter(None, patterns))
    for what, patterns in names.items():
        for pattern in patterns:
            if not _matching(lists[what], [pattern]) and SELFTEST not in pattern:
                meant = f"{_meant(pattern, lists[what])} scripts/matrix.sh --list {what} lists all"
                raise Failure(USER, f"unknown {what[:-1]} '{pattern}';{meant}")
    return {"presets": [default], **names} if default else names


def selected(names: Mapping[str, Sequence[str]], lists: Mapping[str, Named]) -> Named:
    """The presets and stacks that are named; all stacks if none is. Failure if none matches."""
    chosen = {name: lists["presets"][name] for name in _matching(lists["presets"], names.get("presets", ()))}
    if not chosen or names.keys() & {"stacks", "servers", "frameworks"}:
        stacks, servers, frameworks = (
            _matching(lists[what], names.get(what, "*")) for what in ("stacks", "servers", "frameworks")
        )
        hosted = {one if one == other else f"{one}-{other}" for one in servers for other in frameworks}
        if not hosted.intersection(stacks):
            raise Failure(USER, "nothing matches the selection; try --list with fewer filters")
        chosen.update({name: lists["stacks"][name] for name in stacks if name in hosted})
    return chosen


def _meant(word: str, names: Iterable[str]) -> str:
    return "".join(f" did you mean {name}?" for name in get_close_matches(word, list(names), 1))


def _matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
