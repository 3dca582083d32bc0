"""The selection of a run that is repeated: as it was, but for what is asked for otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from bench.plan.running import OWNED

WITHOUT_VALUE = (OWNED,)
CHOOSING = tuple(
    f"--{name}" for name in ("preset", "stack", "framework", "server", "python", "base", "package", "vary", "target")
)
"""What chooses services."""


def repeated(command: Sequence[str], seed: int, otherwise: Sequence[str]) -> list[str]:
    """The words of the repeated selection: an option that is given again takes the place of all that it was."""
    asked = {flag for flag, _ in _options(otherwise)}
    if "--target" in asked:
        # Whoever owned the one server need not own the other.
        asked.add(OWNED)
    kept = [(flag, words) for flag, words in _options(command) if flag not in asked]
    words = [word for _, words in kept for word in words] + list(otherwise)
    return words if any(flag == "--seed" for flag, _ in _options(words)) else [*words, "--seed", str(seed)]


def chooses_the_same(command: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two selections ask for the same services, in these words."""
    first, second = ([one for one in _options(words) if one[0] in CHOOSING] for words in (command, other))
    return first == second


def _options(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(option, its words)."""
    rest = iter(words)
    for word in rest:
        flag, mark, _ = word.partition("=")
        alone = mark or flag in WITHOUT_VALUE
        yield flag, (word,) if alone else (word, *islice(rest, 1))
