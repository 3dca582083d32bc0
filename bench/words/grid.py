"""A grid of two knobs in words: the effect of each knob, and the names of rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.analysis.tables.grid import Enough, Grid, Line, MemoryRange, enough_of, memory_along
from bench.analysis.tables.ranking import Ranking
from bench.core.formats import capital, joined, number, size
from bench.core.groups import grouped
from bench.words.changes import LITTLE, change_of
from bench.words.names import knob_words, setting_words

NOTABLE = 1.1
"""A knob changes memory from this ratio on."""


def line_words(grid: Grid, line: Line) -> str:
    """A row of the grid: `2 threads`; with its server if there are several, or if only the server is known."""
    several = len({row.server for row in grid.rows if row.value is not None}) > 1
    own = setting_words({grid.down: line.value}) if line.value is not None else ""
    return own if own and not several else ", ".join(filter(None, (line.server, own)))


def grid_sentences(ranking: Ranking, grid: Grid) -> Iterator[str]:
    """The effect of each knob on speed, then on memory."""
    for knob, other in ((grid.down, grid.across), (grid.across, grid.down)):
        found = enough_of(ranking, grid.lines(knob))
        if found:
            yield f"{capital(knob_words(knob))}: {'; '.join(_along(ranking, knob, other, found))}."
    if ranking.rows and (memory := "; ".join(_memory(ranking, grid))):
        yield f"Memory under load: {memory}."


def _along(ranking: Ranking, knob: str, other: str, found: Sequence[Enough]) -> Iterator[str]:
    """A part for each value that is enough on some lines."""
    for (value, largest, smallest), group in grouped(found, lambda one: (one.value, one.largest, one.smallest)).items():
        where = _where(other, [one.line for one in group])
        if largest:
            yield f"{value}, the most tested, is best {where}{_gain(ranking, knob, other, group)}"
            continue
        ends = [one.at_most for one in group if one.at_most is not None]
        most = max(ends) if len(ends) == len(group) else None
        at_most = "" if most is None else f" (at most {size(most)} faster)"
        if most is not None and most > LITTLE:
            yield f"whether more than {value} helps {where} is open (up to {size(most)} faster)"
        elif not smallest and most is not None:
            yield f"{value} is enough {where}: more is not measurably faster{at_most}"
        else:
            yield f"more than {value} is not measurably faster {where}{at_most}"


def _where(other: str, lines: Sequence[Line]) -> str:
    """`with 2, 4 and 16 threads and for gunicorn-sync`."""
    parts = []
    for server, own in grouped(lines, lambda line: line.server if line.value is None else "").items():
        values = [line.value for line in own if line.value is not None]
        if server:
            parts.append(f"for {server}")
        elif values:
            values = list(dict.fromkeys(values))
            first, last = values[:-1], setting_words({other: values[-1]})
            parts.append(f"with {joined([*first, last])}")
    return joined(parts)


def _gain(ranking: Ranking, knob: str, other: str, group: Sequence[Enough]) -> str:
    """How much the largest value gains over the smallest, on the line where it gains most."""
    known = [(one, one.gain) for one in group if one.gain]
    if not known:
        return ""
    one, gain = max(known, key=lambda pair: pair[1].difference)
    where, most = "" if len(group) == 1 else f"{_where(other, [one.line])} ", change_of(ranking.metric, gain)
    than = setting_words({knob: next(iter(one.line.services))})
    return f": {where}{most.much_of_it()} {than} ({most.interval()})"


def _memory(ranking: Ranking, grid: Grid) -> Iterator[str]:
    for knob in (grid.across, grid.down):
        memory = memory_along(ranking, grid.lines(knob))
        if memory is None:
            continue
        low, high, least, most = memory
        if least >= NOTABLE or most <= 1 / NOTABLE:
            ratio = f"{least:.1f}" if f"{least:.1f}" == f"{most:.1f}" else f"{least:.1f} to {most:.1f}"
            with_, than = setting_words({knob: high.value}), low.value
            yield f"{with_} need {_megabytes(high)}, {ratio} times as much as {than} ({_megabytes(low)})"
        elif round(most, 3) == round(least, 3) == 1:
            yield f"independent of {knob_words(knob)}"
        elif max(most, 1 / least) < NOTABLE:
            yield f"at most {size(max(most - 1, 1 - least))} apart with different {knob_words(knob)}"
        else:
            yield f"with more {knob_words(knob)} {least:.1f} to {most:.1f} times as much"


def _megabytes(found: MemoryRange) -> str:
    low, high = number(found.least / 1e6), number(found.most / 1e6)
    return f"{low} MB" if low == high else f"{low} to {high} MB"
