"""Verdicts and controls as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench.analysis.comparison import LEAST_DIFFERENCE, Comparison, Metric
from bench.analysis.pair_analysis import Judged, PlannedPair
from bench.analysis.verdicts import Verdict, Winner
from bench.core.formats import NOTHING, number
from bench.records.record import Record
from bench.render.table import Table
from bench.stats.estimates import CONFIDENCE, Estimate, percent_of

NOTE = (
    "Two services under the same load in the same seconds, fresh containers each round. CPU judges what keeps"
    " a server busy, successes per second what lets it wait. A verdict holds for its whole table; an interval"
    " that holds 0 is no difference shown. Beside it both figures: how many more successes in a second, and "
    "in a second of CPU time."
)


def verdict_tables(judged: Judged) -> list[Table]:
    """A table for each scenario, tool and level: its pairs with their verdicts."""
    winners = dict(judged.winners)
    every = list(zip(judged.pairs, judged.comparisons, judged.verdicts, judged.differences, strict=True))
    tables = []
    for key in dict.fromkeys(pair.table for pair in judged.pairs):
        rows = tuple(_row(*entry) for entry in every if entry[0].table == key)
        notes = (_winner_words(winners[key]),) if key in winners else ()
        columns = ("service", "compared with", "verdict", "by", "by goodput", "by CPU", "rounds", "mind")
        tables.append(
            Table(" ".join(key), columns, rows, labels=4, notes=notes, prose=("mind",)),
        )
    return tables


def _row(
    pair: PlannedPair, made: Comparison, found: Verdict, differences: Mapping[Metric, Estimate | None]
) -> tuple[str, ...]:
    mind = "; ".join([*([found.reason] if found.reason else []), *found.flags])
    either = (differences.get(metric) for metric in (Metric.GOODPUT, Metric.CPU))
    by = [f"{one.percent:+z.1f} %" if one else NOTHING for one in either]
    return pair.b, pair.a, found.words(), str(made.metric), *by, str(found.rounds), mind or NOTHING


def _winner_words(found: Winner) -> str:
    if found.service:
        return f"Faster than all others here: {found.service}."
    return f"No single winner: nobody is shown to beat {', '.join(found.rivals)}." if found.rivals else "No winner."


def control_tables(judged: Judged, records: Iterable[Record]) -> list[Table]:
    """The A/A pairs, with the limits that they set, and what each tool did on the null server."""
    return [*_same(judged), *_null([record for record in records if record.mode == "null"])]


def _same(judged: Judged) -> Iterable[Table]:
    if not judged.controls:
        return
    rows = []
    for pair, metric, found, rounds in judged.controls:
        if found is None or found.error is None:
            words = NOTHING if found is None else f"{found.percent:+z.1f} %"
        else:
            plain = found.interval(CONFIDENCE)
            words = f"{found.percent:+z.1f} % ({percent_of(plain.low):+z.1f} to {percent_of(plain.high):+z.1f} %)"
        rows.append((pair.a, f"{pair.scenario} {pair.tool} {pair.level}", str(metric), words, str(rounds)))
    bounds = judged.limits or {}
    limits = [
        f"by {metric} {percent_of(found.least):.1f} % is a difference, less than {percent_of(found.delta):.1f} % is none"
        for metric, found in bounds.items()
    ]
    raised = any(found.least > LEAST_DIFFERENCE for found in bounds.values())
    note = "; ".join(limits) + (" (raised by these pairs)." if raised else ".")
    columns = ("service beside itself", "under", "by", "difference", "rounds")
    yield Table("A/A: a service and itself", columns, tuple(rows), labels=3, notes=(note,))


def _null(records: Sequence[Record]) -> Iterable[Table]:
    if not records:
        return
    rows = []
    for key in dict.fromkeys((r.tool, r.scenario, r.level) for r in records):
        group = [r for r in records if (r.tool, r.scenario, r.level) == key]
        rates = [r.goodput for r in group if r.valid and r.goodput is not None]
        causes = sorted({f"{c.cause}: {c.detail}" for r in group for c in r.causes})
        words = f"{number(max(rates))}" if rates else "; ".join(causes) or NOTHING
        rows.append((*key, words, f"{len(rates)} of {len(group)}"))
    columns = ("tool", "scenario", "level", "most requests/s", "valid rounds")
    yield Table("Null server: what the tools can do here", columns, tuple(rows), labels=3)
