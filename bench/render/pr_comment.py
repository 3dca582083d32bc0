"""The comment on a pull request: the verdicts of a run, and whether a policy fails.

The first service of a table in turns is the base, and every other one a head.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.analysis.events import LESS, MORE, NULL, EventContrast, Kind, compares_losses
from bench.analysis.services import pairs_of
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.latency import read_at_common_rates
from bench.analysis.tables.ranking import Contrast, Metric, Percentile, RankedRow, Ranking, TableLatency
from bench.core.errors import UserError
from bench.core.formats import NOTHING, markdown_table, milliseconds, plural, size
from bench.core.gone import gone
from bench.core.templates import environment
from bench.records.file import read_events, read_records
from bench.render.table import Column, table_of
from bench.render.text import visible
from bench.run.facts import RunFacts
from bench.run.reader import read_run, read_service
from bench.stats.table_verdicts import EQUAL, FASTER, NO_WINNER, SLOWER
from bench.validity.run_records import service_names
from bench.words.answers import against
from bench.words.changes import change_of, change_words
from bench.words.events import EventRowText, EventsText, describe_events
from bench.words.latency import load_words, percentile_name
from bench.words.remarks import note_of

MOST_BYTES = 65_536
"""GitHub limits a comment to this many characters; there are never fewer bytes than characters."""
MOST_ROWS = (30, 10, 3, 0)
"""The most rows of a table; the next value is tried if the comment is too long."""
MOST_WORD, MOST_SENTENCE = 200, 500
"""The most characters of one name or reason, and of a sentence."""
POLICY = re.compile(r"(slower|invalid|no-winner|lost)(?::(\d{1,3}(?:\.\d{1,3})?)%)?\Z", re.ASCII)
_ENDS = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})
"""Characters that end a code span or a cell; a backslash does not escape both on GitHub."""
INVALID = "invalid"
"""Said instead of a verdict if a service has no figure."""
LOST, NO_LOSS, NOT_COMPARED, SHOWN = "lost", "no losses", "not applicable to both", "losses not compared"
"""A policy on events; then what is said if neither service loses anything, if the event is impossible for one of them,
and of events whose losses are not compared."""
MOST_FINDINGS = 3
"""Findings in a comment; the report has the others."""
ORDER = (INVALID, SLOWER, NO_WINNER, FASTER, EQUAL)
"""Verdicts in the order of their importance to a reviewer."""
HEAD_AND_BASE = "head against base"


@dataclass(frozen=True, slots=True)
class Policy:
    """What gives exit status 1; `slower` only if the head is slower by more than `percent`."""

    name: str
    percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Comment:
    """Its Markdown, and the number of comparisons or cells that violate a policy."""

    text: str
    violations: int

    def __add__(self, other: Comment) -> Comment:
        return Comment(f"{self.text}\n{other.text}"[:MOST_BYTES], self.violations + other.violations)


def parse_policy(text: str) -> Policy:
    """Parse a policy; UserError if it is not one."""
    match = POLICY.match(text)
    if text in gone():
        raise UserError(gone()[text])
    if not match or (match[2] and match[1] != SLOWER):
        raise UserError(f"policy '{text}' is none of: slower, slower:5%, invalid, no-winner, lost")
    return Policy(match[1], float(match[2] or 0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Base and head of a table with the verdict on the head; `contrast` is None if there is none.

    `failed`: which of the two could not be measured. `latency`: the percentile that is compared, if the comparison is
    not by the table's own metric.
    """

    ranking: Ranking
    base: RankedRow
    head: RankedRow
    contrast: Contrast | None
    failed: tuple[str, ...] = ()
    latency: tuple[TableLatency, Percentile] | None = None

    @property
    def metric(self) -> Metric:
        """The metric that is compared."""
        return self.latency[1].metric if self.latency else self.ranking.metric

    @property
    def load(self) -> str:
        """The table's load, or the rate at which its latency was measured."""
        if self.latency is None:
            return str(self.ranking.table)
        latency, percentile = self.latency
        name = percentile_name(latency, percentile.metric)
        return f"{self.ranking.scenario} {latency.tool} {load_words(latency)}, {name}"

    @property
    def rounds(self) -> int:
        """How many rounds it rests on."""
        if self.latency is None:
            return self.ranking.rounds
        of = self.latency[0].rounds
        return min(of.get(side.service, 0) for side in (self.base, self.head))

    @property
    def invalid(self) -> str:
        """Why one of them has no figure; empty if both have, if nothing was measured yet, and for latency."""
        if self.latency:
            return ""
        lost = (
            one
            for one in (self.base, self.head)
            if one.service in self.failed or (self.ranking.rounds and not one.windows)
        )
        return "; ".join(f"{one.service}: {note_of(one)}" for one in lost)

    @property
    def kind(self) -> str:
        """The verdict, or `invalid`."""
        if self.invalid:
            return INVALID
        return self.contrast.verdict if self.contrast else NO_WINNER

    @property
    def slower_percent(self) -> float:
        """How much slower the head is, in percent of CPU, time or requests/s; negative if it is faster."""
        if not self.contrast:
            return 0.0
        change = change_of(self.metric, self.contrast)
        more = change.ratio - 1 if change.metric.less_is_better else 1 - change.ratio
        return round(100 * more, 6)  # compared with a policy's decimal number

    def remarks(self) -> Iterator[str]:
        """What is missing for a verdict, and the remarks on either service."""
        ranking, contrast = self.ranking, self.contrast
        if self.invalid:
            yield self.invalid
            return
        if self.latency and contrast is None:
            missing, bounds = self.latency[1].missing, self.latency[1].at_most
            for side in (self.base, self.head):
                if why := missing.get(side.service):
                    bound = f"at most {milliseconds(bounds[side.service])}, " if side.service in bounds else ""
                    yield f"{side.service}: {bound}{why}"
        elif ranking.look is None and not self.latency:
            yield f"{ranking.rounds} of the {ranking.looks[0]} rounds needed for the first verdicts"
        elif self.kind in (NO_WINNER, EQUAL) and contrast and contrast.smallest_visible is not None:
            yield f"differences above {size(contrast.smallest_visible)} would probably have been detected"
        if self.kind == NO_WINNER and contrast and contrast.more_rounds is not None:
            yield f"{plural(contrast.more_rounds, 'more round')} would probably decide it"
        if not self.latency:
            yield from (f"{side.service}: {note_of(side)}" for side in (self.base, self.head) if side.remarks)


def violated_by(policy: Policy, row: Comparison) -> bool:
    """Whether a comparison violates the policy."""
    if policy.name == SLOWER:
        return row.kind == SLOWER and row.slower_percent > policy.percent
    if row.latency and policy.name == "no-winner":
        return False  # only the ranking has to be decided
    return policy.name == row.kind.replace(" ", "-")


def comment_on(folder: Path, policies: Sequence[Policy]) -> Comment:
    """The comment on a run's tables in turns; UserError if it has none."""
    facts, absent, rows = read_comparisons(folder)
    events = describe_events(read_events(folder), facts)
    refs = against(facts.refs)
    sides = f"{HEAD_AND_BASE}, {code(refs)}" if refs else HEAD_AND_BASE
    if events:
        if not rows and any(policy.name == SLOWER for policy in policies):
            raise UserError(f"--fail-on {SLOWER} needs a table in turns, and {folder.name} has only events")
        comment = events_comment(
            folder.resolve().name, events, [one for one in policies if not rows or one.name == LOST]
        )
        policies = [one for one in policies if one.name != LOST]
        return comment + verdict_comment(folder.resolve().name, rows, policies, absent, sides) if rows else comment
    if not rows:
        raise UserError(
            f"{folder.name} has no table in turns and so no verdicts: select two services, without --mode (docs/ci.md)"
        )
    if any(policy.name == LOST for policy in policies):
        raise UserError(f"--fail-on {LOST} needs events, and {folder.name} has none (docs/events.md)")
    return verdict_comment(folder.resolve().name, rows, policies, absent, sides)


@dataclass(frozen=True, slots=True)
class EventComparison:
    """Base and head of an event; `contrast` is None if one of them has no counts, or there is only one service."""

    text: EventRowText
    base: str
    head: str
    contrast: EventContrast | None

    @property
    def kind(self) -> str:
        """The verdict on the head, or `invalid`; for a single service, whether it loses anything."""
        cells = self.text.row.cells
        if not compares_losses(self.text.row.event) and any(cell.counted for cell in cells.values()):
            return SHOWN
        if self.base == self.head and cells[self.head].counted:
            return MORE if cells[self.head].lost else NO_LOSS
        if any(name not in cells or cells[name].kind is Kind.CANNOT for name in (self.base, self.head)):
            return NOT_COMPARED
        if self.contrast is None:
            return INVALID
        if self.contrast.verdict == NO_WINNER and not any(cells[name].lost for name in (self.base, self.head)):
            return NO_LOSS
        return self.contrast.verdict


def event_comparisons(events: EventsText) -> list[EventComparison]:
    """The pairs compared under each event, by default with the first service as base; a lone service by itself."""
    services = [name for name in events.table.services if name != NULL]
    pairs = events.table.pairs or [(services[0], other) for other in services[1:]] or [(services[0], services[0])]
    comparisons = []
    for text in events.rows:
        contrasts = {(one.a, one.b): one for one in text.row.contrasts}
        comparisons += [EventComparison(text, base, head, contrasts.get((base, head))) for base, head in pairs]
    return comparisons


def events_comment(run: str, events: EventsText, policies: Sequence[Policy]) -> Comment:
    """Pure: what the head loses compared with the base under each event, verdicts first."""
    comparisons = event_comparisons(events)
    order = (MORE, INVALID, LESS, NO_WINNER, NO_LOSS, SHOWN, NOT_COMPARED)
    rows = sorted(comparisons, key=lambda row: order.index(row.kind))
    counts = {kind: sum(row.kind == kind for row in comparisons) for kind in order}
    by_kind = ", ".join(f"{kind}: {count}" for kind, count in counts.items() if count)
    said = [f"- {code(sentence, MOST_SENTENCE)}" for sentence in events.sentences[:MOST_FINDINGS]]
    policed = {MORE: LOST, INVALID: INVALID, NO_WINNER: "no-winner"}
    violations = {
        policy: sum(policed.get(row.kind) == policy.name for row in comparisons)
        for policy in policies
        if policy.name in policed.values()
    }

    def cell(row: EventComparison, name: str) -> str:
        return code(f"{events.labels[name]}: {row.text.cells[name].line()}")

    columns: list[Column[EventComparison]] = [
        Column("event", lambda row: code(row.text.name)),
        Column("load, client timeout", lambda row: row.text.load),
        Column("verdict on the head", lambda row: row.kind),
        Column("head", lambda row: cell(row, row.head)),
        Column("base", lambda row: "" if row.base == row.head else cell(row, row.base)),
    ]
    return _comment(
        violations,
        counts[INVALID] + counts[NO_WINNER],
        title=f"Events: {by_kind}",
        what=f"{code(run)}: requests lost under events, {plural(events.table.rounds, 'round')}",
        notes=["", *said] if said else [],
        tables=[table_of("", columns, rows)],
        where="events",
    )


def read_comparisons(folder: Path) -> tuple[RunFacts, dict[str, str], list[Comparison]]:
    """run.json of a run, why some of its services could not be measured, and the comparisons of its tables in turns."""
    source = read_run(str(folder))
    failures = {name: read_service(source.path, name).failure for name in service_names(source)}
    absent = {name: ": ".join(failure) for name, failure in failures.items() if failure}
    records = read_records(folder)
    loaded = read_at_common_rates(source.path, source.facts, records)
    rankings = judge_tables(source.facts, records, absent, loaded)
    return source.facts, absent, rows_of(rankings, source.facts, absent)


def rows_of(rankings: Iterable[Ranking], facts: RunFacts, absent: Collection[str]) -> list[Comparison]:
    """Every service of each table but the first, which is the base, as planned; for refs and packages, their pairs."""
    rows, pairs = [], pairs_of(facts)
    for ranking, table in zip(rankings, facts.tables, strict=True):
        places = {row.service: row for row in ranking.rows}
        contrasts = {(one.a, one.b): one for one in ranking.contrasts}
        own = [pair for pair in pairs if places.keys() >= set(pair)]
        first, *others = table.services
        for base, head in own or [(first, other) for other in others]:
            failed = tuple(name for name in (base, head) if name in absent)
            whole = Comparison(ranking, places[base], places[head], contrasts.get((base, head)), failed)
            rows += [whole, *_latencies(whole)]
    return rows


def _latencies(whole: Comparison) -> Iterator[Comparison]:
    """The same pair by each percentile that one of the two has."""
    base, head = whole.base.service, whole.head.service
    for latency in whole.ranking.latencies:
        for percentile in latency.percentiles:
            if percentile.figures.keys() & {base, head}:
                yield replace(whole, contrast=percentile.ahead(head, base), latency=(latency, percentile))


def verdict_comment(
    run: str,
    comparisons: Sequence[Comparison],
    policies: Sequence[Policy],
    absent: Mapping[str, str],
    sides: str = HEAD_AND_BASE,
) -> Comment:
    """Pure: a headline, a row per comparison (those without a difference folded), and the result of each policy.

    `absent`: why services could not be measured. `sides`: what is compared.
    """
    rows = {kind: [row for row in comparisons if row.kind == kind] for kind in ORDER}
    rows[SLOWER].sort(key=lambda row: -row.slower_percent)
    by_kind = ", ".join(f"{len(rows[kind])} {kind}" for kind in ORDER if rows[kind])
    unknown = len(rows[INVALID]) + len(rows[NO_WINNER])
    notes = ["`invalid` and `no winner`: whether these services differ is unknown."] if unknown else []
    lost = dict.fromkeys(name for row in comparisons for name in row.failed)
    notes += [f"Not measured: {code(name)}, {code(absent[name])}." for name in [*lost][: MOST_ROWS[0]]]
    first, same = [row for kind in ORDER if kind != EQUAL for row in rows[kind]], rows[EQUAL]
    return _comment(
        {policy: sum(violated_by(policy, row) for row in comparisons) for policy in policies},
        unknown,
        title=f"{plural(len(comparisons), 'comparison')}: {by_kind}",
        what=f"{code(run)}: {sides}, measured in turns",
        notes=notes,
        tables=[table_of("", COLUMNS, first), table_of(f"{len(same)} {EQUAL}", COLUMNS, same)],
        where="comparisons",
    )


def _policy_line(policy: Policy, count: int, unknown: int) -> str:
    option = f"`--fail-on {policy.name}{f':{policy.percent:g}%' if policy.percent else ''}`"
    have = "has no verdict and was" if unknown == 1 else "have no verdict and were"
    silent = f"; {plural(unknown, 'comparison')} {have} not checked"
    silent = silent if policy.name in (SLOWER, LOST) and unknown else ""
    result = f"failed, {plural(count, 'violation')}" if count else "passed"
    return f"{option}: {result}{silent}."


def _change(row: Comparison) -> str:
    """`needs 93 % more CPU per request (85 to 101 %)`; without a verdict, a change with its sign."""
    return NOTHING if row.invalid or not row.contrast else change_words(row.metric, row.contrast)


COLUMNS: tuple[Column[Comparison], ...] = (
    Column("head", lambda row: code(row.head.service)),
    Column("base", lambda row: code(row.base.service)),
    Column("load", lambda row: code(row.load)),
    Column("verdict", lambda row: row.kind),
    Column("head against base", _change),
    Column("rounds", lambda row: str(row.rounds)),
    Column("remarks", lambda row: code("; ".join(row.remarks()))),
)


def _comment(violations: Mapping[Policy, int], unknown: int, **content: Any) -> Comment:
    """The comment with this content, with fewer rows if it would be too long; tables with a title are folded.

    `unknown`: how many comparisons have no verdict.
    """
    template = environment(Path(__file__).parent).get_template("pr_comment.md.jinja")
    foot = [_policy_line(policy, count, unknown) for policy, count in violations.items()]
    for most in MOST_ROWS:
        text = template.render(content, foot=foot, most=most, markdown_table=markdown_table)
        if len(text.encode()) <= MOST_BYTES:
            break
    return Comment(text, sum(violations.values()))


def code(text: str, most: int = MOST_WORD) -> str:
    """`text` as one short code span, in which GitHub sees no link, mention, issue number or HTML."""
    shown = visible(" ".join(text.split()))
    short = shown if len(shown) <= most else shown[: most - 1] + "…"
    return "`" + short.translate(_ENDS) + "`" if short else ""
