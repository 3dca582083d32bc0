"""What to set after a finding of an event: the default that decides it, by the server's documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench.analysis.events import NULL, EventCell, EventTable
from bench.core.formats import capital, listed
from bench.core.groups import grouped
from bench.run.facts import Defaults
from bench.stats.event_counts import share
from bench.words.event_words import words_of
from bench.words.texts import TEXTS

DEFAULTS = TEXTS["defaults"]
"""Each kind of default in words, with the knob that sets it."""
MUCH = 0.01
"""A service is named from this share of lost requests on."""


def settings_sentences(table: EventTable, defaults: Mapping[str, Defaults], labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each event and default that cost services much, with the source."""
    for event, rows in grouped(table.rows, lambda row: row.event).items():
        kind = words_of(event).decides
        struck = dict.fromkeys(
            name for row in rows for name, cell in row.cells.items() if kind and name != NULL and _cost_much(cell)
        )
        known = [(name, default) for name in struck if (default := defaults.get(name, {}).get(kind))]
        by_default = grouped(known, lambda pair: (pair[1].get("value"), pair[1].get("source")))
        for (value, source), group in by_default.items():
            names = listed([labels[name] for name, _ in group])
            yield f"{capital(event)}, {names}: {DEFAULTS[kind]}, by default {value} ({source})."


def _cost_much(cell: EventCell) -> bool:
    return bool(cell.counted) and (cell.gone > 0 or share(cell.counts) >= MUCH)
