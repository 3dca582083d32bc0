"""A table of formatted text, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.core.formats import NOTHING
from bench.render.page.text import visible

_ESCAPES = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "`": "'", "\\": "\\\\", "[": "\\[", "]": "\\]"})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of formatted text; the first `labels` columns and those in `prose` are left-aligned, the others right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    notes: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table with its title and notes, ending in a newline."""
        words = {*self.columns[: self.labels], *self.prose}
        marks = ["---" if name in words else "---:" for name in self.columns]
        lines = [f"### {escape(self.title)}", "", _line(self.columns), _line(marks)]
        lines += [_line(row) for row in self.rows]
        for note in self.notes:
            lines += ["", escape(note)]
        return "\n".join(lines) + "\n"


def _line(words: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(map(escape, words)) + " |"


def escape(text: str) -> str:
    """`text` as one line of Markdown, escaped, with what a reader would not see named, such as marks of direction."""
    return visible(" ".join(text.split())).translate(_ESCAPES)


def without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Iterable[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The table without those `optional` columns that are empty."""
    wanted = set(optional)
    kept = [
        index
        for index, name in enumerate(columns)
        if name not in wanted or any(row[index] not in ("", NOTHING) for row in rows)
    ]
    return tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)
