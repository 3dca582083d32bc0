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
    "The two services of a pair run side by side under the same load, in fresh containers each round. The metric is CPU"
    " per request if the servers are busy, goodput if they mostly wait. Verdicts are corrected for all pairs of their"
    " table; an interval that contains 0 does not show a difference. The columns goodput and goodput per core are the"
    " differences in successful responses per second and per CPU second."
)


def verdict_tables(judged: Judged) -> list[Table]:
    """A table per scenario, tool and level: its pairs with their verdicts."""
    winners = dict(judged.winners)
    every = list(zip(judged.pairs, judged.comparisons, judged.verdicts, judged.differences, strict=True))
    tables = []
    for key in dict.fromkeys(pair.table for pair in judged.pairs):
        rows = tuple(_row(*entry) for entry in every if entry[0].table == key)
        notes = (_winner_words(winners[key]),) if key in winners else ()
        columns = ("service", "compared with", "verdict", "metric", "goodput", "goodput per core", "rounds", "remarks")
        tables.append(
            Table(" ".join(key), columns, rows, labels=4, notes=notes, prose=("remarks",)),
        )
    return tables


def _row(
    pair: PlannedPair, made: Comparison, found: Verdict, differences: Mapping[Metric, Estimate | None]
) -> tuple[str, ...]:
    remarks = "; ".join([*([found.reason] if found.reason else []), *found.flags])
    either = (differences.get(metric) for metric in (Metric.GOODPUT, Metric.CPU))
    differs = [f"{one.percent:+z.1f} %" if one else NOTHING for one in either]
    return pair.b, pair.a, found.words(), str(made.metric), *differs, str(found.rounds), remarks or NOTHING


def _winner_words(found: Winner) -> str:
    if found.service:
        return f"Winner: {found.service} is faster than all others in this table."
    return f"No single winner (unbeaten: {', '.join(found.rivals)})." if found.rivals else "No winner."


def control_tables(judged: Judged, records: Iterable[Record]) -> list[Table]:
    """The A/A pairs with the thresholds that they set, and each tool's rate with the null server."""
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
        f"{metric}: a difference needs an estimate of {percent_of(one.least):.1f} % or more,"
        f" no difference an interval within ±{percent_of(one.delta):.1f} %"
        for metric, one in bounds.items()
    ]
    raised = any(found.least > LEAST_DIFFERENCE for found in bounds.values())
    note = "; ".join(limits) + (" (raised to the noise floor)." if raised else ".")
    columns = ("service", "load", "metric", "difference", "rounds")
    yield Table("A/A pairs: the noise floor of this run", columns, tuple(rows), labels=3, notes=(note,))


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
    columns = ("tool", "scenario", "level", "max requests/s", "valid rounds")
    yield Table("Null server: the limit of each tool on this host", columns, tuple(rows), labels=3)
