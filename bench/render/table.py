"""A table of formatted text, made from rows of any type by columns that read a text from each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from bench.core.formats import NOTHING, markdown_table
from bench.render.text import escape

MANY = 4
"""From this many rows on, a value that all rows share is given once, in a note."""
Row = TypeVar("Row")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """`of` gives the text of a row.

    `left`: aligned left, for words; figures are aligned right. `optional`: omitted if no row has a text.
    """

    name: str
    of: Callable[[Row], str]
    left: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of formatted text; `left`: whether each column is aligned left."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[bool, ...]
    notes: tuple[str, ...] = ()

    @property
    def said_once(self) -> Table:
        """Without empty columns; a value that MANY or more rows share is in a note instead of a column."""
        kept, alike = [0], []
        for place in range(1, len(self.columns)):
            texts = {row[place] for row in self.rows}
            if len(self.rows) < MANY or len(texts) > 1:
                kept.append(place)
            elif not texts <= {"", NOTHING}:
                alike.append(f"{self.columns[place]}: {texts.pop()}")
        notes = [f"All {len(self.rows)} rows: {'; '.join(alike)}."] if alike else []
        return replace(self.only(kept), notes=(*notes, *self.notes))

    def only(self, places: Sequence[int]) -> Table:
        """With these columns only."""
        columns, *rows = (tuple(row[at] for at in places) for row in (self.columns, *self.rows))
        return replace(self, columns=columns, left=tuple(self.left[at] for at in places), rows=tuple(rows))

    def turned(self, corner: str) -> Table:
        """With columns as rows; `corner` is the name of the first column."""
        (_, *names), *rows = zip(self.columns, *self.rows, strict=True)
        return replace(self, columns=(corner, *names), rows=tuple(rows), left=(True,) * (1 + len(names)))

    def markdown(self) -> str:
        """The table with its title and notes, ending in a newline; shared values are given once."""
        table = self.said_once
        figures = [place for place, left in enumerate(table.left) if not left]
        names, *rows = (map(escape, row) for row in (table.columns, *table.rows))
        parts = [f"### {escape(table.title)}", markdown_table([*names], rows, figures), *map(escape, table.notes)]
        return "\n\n".join(parts) + "\n"


def table_of(title: str, columns: Sequence[Column[Row]], rows: Iterable[Row], notes: Iterable[str] = ()) -> Table:
    """The table of these rows."""
    texts = tuple(tuple(column.of(row) for column in columns) for row in rows)
    names, left = tuple(column.name for column in columns), tuple(column.left for column in columns)
    kept = [
        place
        for place, column in enumerate(columns)
        if not column.optional or any(text[place] not in ("", NOTHING) for text in texts)
    ]
    return Table(title, names, texts, left, tuple(notes)).only(kept)


def written(value: V | None, write: Callable[[V], str]) -> str:
    """A value as text; a dash without one."""
    return NOTHING if value is None else write(value)
