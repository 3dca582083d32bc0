"""Two runs, cell by cell: what changed from one to the other, and whether the change is significant.

A run's side of a cell is a sample: natural logarithms of a figure of which more is better, one for each valid round.
The difference of two is then the logarithm of a ratio.

Welch's t test of the two samples alone would not be enough: solo windows of two runs were not measured at the same
time, so the difference contains any change of the host between the runs, and more rounds do not remove it. The null
server of the runs bounds that change:

- The **null server** is the same in both runs, so any change of it comes from the host. If its interval excludes 0 and
  it changed by 3 % or more, the hosts differ and nothing is compared.
- Otherwise the host may have changed by as much as the outer end of the null server's interval. The larger of that and
  3 % is the `margin`. The test is whether the change exceeds the margin, not whether it is 0. Without null windows in
  both runs there is no verdict.

So `differs` means: beyond the margin, by Benjamini and Hochberg's procedure at 5 % over all rows of the two runs. Its
interval has the confidence 1 - 5 % * R/m if R of m rows differ (Benjamini and Yekutieli, "False discovery rate-adjusted
multiple confidence intervals for selected parameters", JASA 100, 2005). It is never `faster` or `slower`: those words
are reserved for services of one table, which share their windows.

In a **table**, in turns or at a common rate, a service is compared relative to the others that have the same image in
both runs: the value of a round is the mean of its windows minus the mean of theirs. What the host does to the whole
table then cancels out, between rounds and between runs. The margin is 3 %; for latencies, the difference between the
two rates is added; for a service that idles, what its speed includes for time that other programs took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from bench.analysis.causes import HARMLESS_TO_LATENCY, HOST, causes_beside
from bench.analysis.cells.cell import Cell, FigureOf, cells_of
from bench.analysis.cells.latency import Distribution, merge
from bench.analysis.tables.observations import credits, limited_services, value_of
from bench.analysis.tables.ranking import Metric
from bench.core.groups import grouped
from bench.records.outcome import NOT_RUN
from bench.records.record import MEASURED, Record
from bench.stats.estimates import ERRORS, LEAST_SPREAD, Estimate, Interval, estimate, percent_of
from bench.stats.table_verdicts import MARGIN, NO_DIFFERENCE, NOT_ENOUGH
from bench.tools.send_lag import SHARES, quantile_of

GOODPUT, PER_CORE = "goodput", "goodput_per_core"
SPEED, CORE_IN_TURNS, P50, P99 = "speed_in_turns", "goodput_per_core_in_turns", "p50", "p99"
IN_TURNS = {SPEED: Metric.SPEED, CORE_IN_TURNS: Metric.CPU}
"""Figures of a table in turns."""
LATENCIES = (P50, P99)
"""Figures of a table at a common rate, in seconds; less is better."""
RATES_APART = 0.1
"""Latencies at two rates are compared if one is at most this share above the other."""
CREDITED = 0.01
"""A service whose speed is uncertain by more than this logarithm is no reference for others."""
AT_TARGET = 0.99
"""Above this share of a target rate, the target limited the service: its figure does not show its capacity."""

SCHEMA = 2
"""Schema of the lines of comparison.jsonl and history.jsonl."""


@dataclass(frozen=True, slots=True)
class FigureKey:
    """What is compared: one figure of a cell."""

    scenario: str
    tool: str
    level: str
    service: str
    figure: str

    @property
    def cell(self) -> str:
        """`SCENARIO TOOL LEVEL`."""
        return f"{self.scenario} {self.tool} {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine(FigureKey):
    """A line of comparison.jsonl or history.jsonl, about one key."""

    def to_json(self) -> str:
        """The line, without its newline."""
        values: dict[str, Any] = {"schema": SCHEMA} | asdict(self)
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class Sample:
    """The valid rounds of one key in one run.

    `planned`: the number of all rounds. `refused`: rounds that are invalid for another reason than noise on the host,
    which discards whole rounds regardless of their results. `cause`: why values are missing. `held`: the target rate
    limited the service. `in_table`: of a table, where `rounds` has the round of each value, and `rate` is its common
    rate. `bounded`: the load generator limited the service, so its speed may be higher. `credit`: the logarithm by
    which its speed exceeds its requests/s, if it idles, so that either may be its speed.
    """

    values: tuple[float, ...]
    planned: int
    refused: int = 0
    cause: str = ""
    held: bool = False
    in_table: bool = False
    rounds: tuple[int, ...] = ()
    rate: float | None = None
    bounded: bool = False
    credit: float = 0.0

    @cached_property
    def estimate(self) -> Estimate | None:
        """The mean of the logarithms; None without a valid round."""
        return estimate(self.values)

    @property
    def invalid(self) -> bool:
        """Whether there is no valid round, or more rounds are refused than valid."""
        return not self.values or self.refused > len(self.values)

    @property
    def is_reference(self) -> bool:
        """Whether others of its table can be compared relative to it."""
        return not (self.invalid or self.bounded or self.credit > CREDITED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """One run: its name, its samples in the report's order, those of its null server, and the image of each service."""

    name: str
    cells: Mapping[FigureKey, Sample]
    null: Mapping[FigureKey, Sample]
    images: Mapping[str, str] = field(default_factory=dict)


def samples_of(
    name: str, services: Sequence[str], records: Sequence[Record], loaded: Mapping[str, Distribution] | None = None
) -> Samples:
    """The samples of a run's reviewed records; pure. `loaded`: the latencies of its loads at common rates, by id."""
    solo = cells_of((record for record in records if record.mode == "solo"), services)
    null = cells_of((record for record in records if record.mode == "null"), services)
    cells, nulls = (dict(item for cell in found for item in _figures(cell)) for found in (solo, null))
    for cell in cells_of((record for record in records if record.mode == "turns"), services):
        cells |= _in_turns(cell)
    for cell in cells_of((record for record in records if record.mode == "rate"), services):
        cells |= _at_rate(cell, loaded or {})
    ran = grouped((record for record in records if record.image_id), lambda record: record.service)
    images = {service: {record.image_id for record in own} for service, own in ran.items()}
    alike = {service: str(*ids) for service, ids in images.items() if len(ids) == 1}
    return Samples(name=name, cells=cells, null=nulls, images=alike)


def _in_turns(cell: Cell) -> dict[FigureKey, Sample]:
    found = {}
    for figure, metric in IN_TURNS.items():
        values: dict[int, list[float]] = {}
        for record in cell.records:
            if (value := value_of(record, metric)) is not None:
                values.setdefault(record.round, []).append(value)
        if values:
            found[_key(cell, figure)] = _of_rounds(cell, {number: fmean(own) for number, own in values.items()})
    if (key := _key(cell, SPEED)) in found:
        bounded, credit = bool(limited_services(cell.records)), credits(cell.records).get(cell.service, 0.0)
        found[key] = replace(found[key], bounded=bounded, credit=credit)
    return found or _without_a_value(cell, SPEED)


def _at_rate(cell: Cell, loaded: Mapping[str, Distribution]) -> dict[FigureKey, Sample]:
    """Each round's percentiles, of those that have enough requests in all rounds together."""
    own = {
        record.round: loaded[record.id]
        for record in cell.records
        if record.outcome == MEASURED and record.id in loaded and not causes_beside(record, HARMLESS_TO_LATENCY)
    }
    if not own:
        return _without_a_value(cell, P50)
    merged = merge(own.values())
    return {
        _key(cell, name): _of_rounds(
            cell, {number: math.log(quantile_of(one.counts, SHARES[name]) / 1e9) for number, one in own.items()}
        )
        for name in LATENCIES
        if merged.percentiles_s[name] is not None
    }


def _without_a_value(cell: Cell, figure: str) -> dict[FigureKey, Sample]:
    """One row for a service whose windows were all refused, with the cause; none if no cause is known."""
    ran = Cell(tuple(record for record in cell.records if record.outcome != NOT_RUN))
    return {_key(cell, figure): _of_rounds(ran, {})} if ran.records and ran.causes else {}


def _key(cell: Cell, figure: str) -> FigureKey:
    first = cell.first
    return FigureKey(first.scenario, first.tool, first.level, first.service, figure)


def _of_rounds(cell: Cell, values: Mapping[int, float]) -> Sample:
    planned = len({record.round for record in cell.records})
    return Sample(
        values=tuple(values.values()),
        planned=planned,
        refused=planned - len(values),
        cause=", ".join(cell.causes),
        in_table=True,
        rounds=tuple(values),
        rate=cell.first.rate,
    )


def _figures(cell: Cell) -> Iterator[tuple[FigureKey, Sample]]:
    first, key = cell.first, _key(cell, GOODPUT)
    # The goodput of an open loop is its target rate; what can be compared is the cost per response.
    if first.connections is not None:
        yield key, _sample(cell, lambda record: record.goodput)
    costs = _sample(cell, lambda record: record.goodput_per_core)
    if costs.values or first.connections is None:
        yield replace(key, figure=PER_CORE), costs


def _sample(cell: Cell, read: FigureOf) -> Sample:
    values = [value for record in cell.valid if (value := read(record)) and 0 < value < math.inf]
    refused = [one for one in cell.records if not one.valid and one.causes and one.causes[0].cause != HOST]
    return Sample(
        values=tuple(map(math.log, values)),
        planned=len(cell.records),
        refused=len(refused),
        cause="no such figure" if cell.valid and not values else ", ".join(cell.causes),
        held=read(cell.first) == cell.first.goodput
        and any(r.rate is not None and r.goodput is not None and r.goodput >= AT_TARGET * r.rate for r in cell.valid),
    )


DIFFERS, INVALID, NOT_COMPARABLE = "differs", "invalid", "not comparable"
LEAST_ROUNDS, LEAST_OF_TABLE = 8, 5
"""Valid rounds that each run needs; fewer in a table, where effects on a whole round cancel out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigure:
    """One run's side: the geometric mean of its valid rounds and its 95 % interval, in 1/s.

    All three are None if the rounds give none; `cause` says why rounds are not valid or the value is missing.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int
    planned: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDifference(FigureLine):
    """One figure of one cell in two runs; `ratio` is `after` / `before`. More is better, except for latencies.

    In a table, that ratio is divided by the mean ratio of the services that have the same image in both runs.

    `word` is `differs`, `no difference shown`, `not enough data`, `invalid: CAUSE` or `not comparable: CAUSE`; `reason`
    says what is missing for a verdict. `ratio` has the interval `low` to `high` at `confidence`. `margin`: the change,
    as a share, that the host may have caused, or the smallest that counts. `null_ratio`: the ratio of the null server's
    figure. `p` is for the hypothesis that the change is within the margin (1: not tested), `adjusted_p` over all rows.
    What is unknown is None.
    """

    one: str
    other: str
    before: CellFigure
    after: CellFigure
    word: str
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    margin: float | None = None
    null_ratio: float | None = None
    p: float = 1.0
    adjusted_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Drift:
    """The change of the null server between two runs: the estimate and its 95 % interval (logarithms)."""

    key: FigureKey
    mean: float
    interval: Interval

    @property
    def bound(self) -> float:
        """The largest change that the host may have caused."""
        return max(abs(self.interval.low), abs(self.interval.high))

    @property
    def shown(self) -> bool:
        """Whether the host has changed significantly."""
        return self.interval.sign != 0 and abs(self.mean) >= MARGIN

    def words(self) -> str:
        """`the null server (json wrk c64) +8.1 % (+6.0 to +10.2 %)`."""
        mean, low, high = (percent_of(end) for end in (self.mean, self.interval.low, self.interval.high))
        return f"the null server ({self.key.cell}) {mean:+z.1f} % ({low:+z.1f} to {high:+z.1f} %)"


@dataclass(frozen=True, slots=True)
class Welch:
    """The change from one sample to the other: Welch's t test of the logarithms."""

    one: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether the noise is known: at least two values on each side, not all identical."""
        spreads = [max(values) - min(values) for values in (self.one, self.other) if values]
        return min(len(self.one), len(self.other)) >= 2 and min(spreads) >= LEAST_SPREAD

    @property
    def mean(self) -> float:
        """Mean of `other` minus mean of `one`."""
        return math.fsum(self.other) / len(self.other) - math.fsum(self.one) / len(self.one)

    def p_beyond(self, margin: float) -> float:
        """Two-sided p for the hypothesis of a change of `margin`; 1 if the change is within it."""
        if not self.known or abs(self.mean) <= margin:
            return 1.0
        from scipy.stats import ttest_ind  # takes most of a second to load

        near = math.copysign(margin, self.mean)
        return float(ttest_ind([value - near for value in self.other], self.one, equal_var=False).pvalue)

    def interval(self, confidence: float) -> Interval:
        """Welch's interval of the change; infinite if the noise is unknown."""
        if not self.known:
            return Interval(-math.inf, math.inf, confidence)
        from scipy.stats import ttest_ind

        found = ttest_ind(self.other, self.one, equal_var=False).confidence_interval(confidence)
        return Interval(float(found.low), float(found.high), confidence)


@dataclass(frozen=True, slots=True)
class _Uncorrected:
    """A key of both runs, before the correction over all rows."""

    base: CellDifference
    shift: Welch | None = None
    margin: float = 0.0
    decided: bool = False
    blur: float = 0.0
    """By how much the figures themselves are uncertain (logarithm)."""

    @property
    def p(self) -> float:
        return 1.0 if self.decided or self.shift is None else self.shift.p_beyond(self.margin)


def run_differences(one: Samples, other: Samples, refused: str = "") -> list[CellDifference]:
    """All keys that both runs have, in the order of the first; `refused` says why the runs cannot be compared."""
    keys = [key for key in one.cells if key in other.cells]
    if refused:
        return [_unjudged(one, other, key, f"{NOT_COMPARABLE}: {refused}") for key in keys]
    drifts = drifts_of(one, other)
    rows = [_row(one, other, key, worst_drift(drifts, key.tool, key.figure)) for key in keys]
    adjusted, rejected = corrected([row.p for row in rows])
    return [_judged(row, p, rejected, len(rows)) for row, p in zip(rows, adjusted, strict=True)]


def corrected(ps: Sequence[float]) -> tuple[list[float], int]:
    """(p values adjusted by Benjamini and Hochberg's procedure, how many of them are rejected)."""
    if not ps:
        return [], 0
    from scipy.stats import false_discovery_control

    adjusted = [float(p) for p in false_discovery_control(ps, method="bh")]
    return adjusted, sum(p <= ERRORS for p in adjusted)


def drifts_of(one: Samples, other: Samples) -> list[Drift]:
    """The change of the null server between the runs, for each figure that both have."""
    drifts = []
    for key in (key for key in one.null if key in other.null):
        sides = one.null[key], other.null[key]
        shift = Welch(*(side.values for side in sides))
        if shift.known and not any(side.held for side in sides):
            drifts.append(Drift(key, shift.mean, shift.interval(1 - ERRORS)))
    return drifts


def worst_drift(drifts: Sequence[Drift], tool: str, figure: str) -> Drift | None:
    """The drift with the largest bound under this tool, else under any tool."""
    those = [drift for drift in drifts if drift.key.figure == figure]
    same = [drift for drift in those if drift.key.tool == tool] or those
    return max(same, key=lambda drift: drift.bound, default=None)


def _unjudged(one: Samples, other: Samples, key: FigureKey, word: str) -> CellDifference:
    return CellDifference(
        one=one.name,
        other=other.name,
        **asdict(key),
        before=figure_of(one.cells[key]),
        after=figure_of(other.cells[key]),
        word=word,
        reason="",
    )


def figure_of(sample: Sample) -> CellFigure:
    """One run's side of a row: a mean if there is a valid round, an interval if there are two that differ."""
    found = sample.estimate
    interval = found.interval(1 - ERRORS) if found and found.error is not None else None
    return CellFigure(
        value=_exp(found.mean) if found else None,
        low=_exp(interval.low) if interval else None,
        high=_exp(interval.high) if interval else None,
        rounds=len(sample.values),
        planned=sample.planned,
        cause=sample.cause if sample.invalid or len(sample.values) < sample.planned else "",
    )


def _row(one: Samples, other: Samples, key: FigureKey, drift: Drift | None) -> _Uncorrected:
    before, after = one.cells[key], other.cells[key]
    base = _unjudged(one, other, key, NOT_ENOUGH)
    causes = list(dict.fromkeys(side.cause for side in (before, after) if side.invalid))
    if causes:
        return _Uncorrected(replace(base, word=f"{INVALID}: {', '.join(causes)}"), decided=True)
    if before.in_table:
        return _of_table(one, other, key, base)
    shift = Welch(before.values, after.values)
    margin = MARGIN if drift is None else max(MARGIN, drift.bound)
    base = replace(base, margin=math.expm1(margin), null_ratio=_exp(drift.mean) if drift else None)
    word, reason = _refusal(before, after, shift, drift if drift and drift.shown else None)
    if not (word or reason or drift):
        base = replace(base, margin=None)
        reason = "no null server in both runs, so changes of the host between them are unknown"
    return _Uncorrected(replace(base, word=word or NOT_ENOUGH, reason=reason), shift, margin, bool(word or reason))


def _of_table(one: Samples, other: Samples, key: FigureKey, base: CellDifference) -> _Uncorrected:
    """The row of a service in a table, relative to the others that have the same image in both runs."""
    same = [
        found
        for found in one.cells.keys() & other.cells.keys()
        if (found.cell, found.figure) == (key.cell, key.figure) and found.service != key.service
        if found.service in one.images and one.images[found.service] == other.images.get(found.service)
        if one.cells[found].is_reference and other.cells[found].is_reference
    ]
    rates = [one.cells[key].rate or 1.0, other.cells[key].rate or 1.0]
    sides = one.cells[key], other.cells[key]
    margin = MARGIN + (math.log(max(rates) / min(rates)) if key.figure in LATENCIES else 0.0)
    blur = sum(side.credit for side in sides)
    shift = Welch(*(_against(run, key, same) for run in (one, other)))
    least = min(len(shift.one), len(shift.other))
    word = reason = ""
    if max(rates) > (1 + RATES_APART) * min(rates) and key.figure in LATENCIES:
        word, reason = f"{NOT_COMPARABLE}: rate", f"{rates[0]:,.0f}/s and {rates[1]:,.0f}/s"
    elif any(side.bounded for side in sides):
        reason = "the load generator was the limit"
    elif not same:
        reason = "no other service of the table has the same image in both runs: changes of the host are unknown"
    elif least < LEAST_OF_TABLE:
        reason = f"{least} of the {LEAST_OF_TABLE} valid rounds that each run needs"
    elif not shift.known:
        reason = "all rounds are identical"
    base = replace(base, word=word or NOT_ENOUGH, reason=reason, margin=math.expm1(margin + blur) if same else None)
    return _Uncorrected(base, shift if least else None, margin + blur, bool(word or reason), blur)


def _against(run: Samples, key: FigureKey, others: Sequence[FigureKey]) -> tuple[float, ...]:
    """The service's rounds minus the mean of the others, for the rounds that all of them have."""
    own, *rest = (dict(zip(run.cells[one].rounds, run.cells[one].values, strict=True)) for one in (key, *others))
    kept = [number for number in own if all(number in one for one in rest)]
    return tuple(own[number] - (fmean(one[number] for one in rest) if rest else 0.0) for number in kept)


def _refusal(before: Sample, after: Sample, shift: Welch, drifted: Drift | None) -> tuple[str, str]:
    """(word, reason) if the test does not apply; both empty if it does."""
    least = min(len(before.values), len(after.values))
    if before.held or after.held:
        return "", "limited by the target rate"
    if drifted is not None:
        return f"{NOT_COMPARABLE}: host", drifted.words()
    if least >= 2 and not shift.known:
        return "", "all rounds are identical"
    if least < LEAST_ROUNDS:
        return "", f"{least} of the {LEAST_ROUNDS} valid rounds that each run needs"
    return "", ""


def _judged(row: _Uncorrected, adjusted: float, rejected: int, rows: int) -> CellDifference:
    shift, base = row.shift, row.base
    if shift is None or base.word.startswith(NOT_COMPARABLE):
        return base
    different = not row.decided and adjusted <= ERRORS
    interval = shift.interval(1 - ERRORS * (rejected if different else min(rejected + 1, rows)) / rows)
    word, reason = base.word, base.reason
    if different:
        word = DIFFERS
    elif not row.decided:
        plain = shift.interval(1 - ERRORS)
        if plain.within(MARGIN - row.blur):
            word, interval = NO_DIFFERENCE, plain
        else:
            reason = _missing(interval, row)
    finite = math.isfinite(interval.low) and math.isfinite(interval.high)
    return replace(
        base,
        word=word,
        reason=reason,
        ratio=_exp(shift.mean),
        low=_exp(interval.low) if finite else None,
        high=_exp(interval.high) if finite else None,
        confidence=interval.confidence if finite else None,
        p=row.p,
        adjusted_p=adjusted,
    )


def _missing(interval: Interval, row: _Uncorrected) -> str:
    if interval.sign == 0:
        return f"the interval contains 0 and is not within ±{percent_of(MARGIN):.1f} %"
    if row.margin > MARGIN:
        causes = dict.fromkeys(LATENCIES, "another rate") | dict.fromkeys(IN_TURNS, "other programs")
        what = causes.get(row.base.figure, "the host")
        return f"the interval is not beyond the {percent_of(row.margin):.1f} % that {what} may have caused"
    return f"the interval is not beyond {percent_of(MARGIN):.1f} %"


def _exp(logarithm: float) -> float | None:
    return math.exp(logarithm) if abs(logarithm) < 700 else None


def comparison_lines(found: Iterable[CellDifference]) -> str:
    """The text of comparison.jsonl."""
    return "".join(f"{row.to_json()}\n" for row in found)


def count_words(found: Sequence[CellDifference]) -> dict[str, int]:
    """The number of rows by verdict, without causes."""
    words = dict.fromkeys((DIFFERS, NO_DIFFERENCE, NOT_ENOUGH, INVALID, NOT_COMPARABLE), 0)
    for row in found:
        words[row.word.partition(":")[0]] += 1
    return {word: count for word, count in words.items() if count}
