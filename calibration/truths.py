"""Tables with known answers: what each service can serve at most and at least, which one serves more, which are equal,
and which one idles.

What a service can serve follows from what its requests do (services/frameworks/synthetic/app.py). If it serves N
requests at once and takes W for each, it cannot serve more than N / W per second, in any window, on any machine. It
serves at least nine tenths of that, once the timer's 2 ms and the CPU time of N requests, in the server and in the
tool, are added to W. The minimum applies only to windows in which other programs took almost no CPU, because that
delays every response.

Two services are equal if both do the same, or if a coin decides for each container and scenario whether a request costs
5 % more CPU time. Then chance alone may show a difference, in 5 % of the tables.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any

from bench.analysis.runs.compatibility import read_compared
from bench.core.errors import UserError
from bench.core.files import objects_in
from bench.core.formats import markdown_table, number
from bench.core.groups import grouped
from bench.core.typed import typed
from bench.records.record import MEASURED, Record
from bench.stats.table_verdicts import FASTER, SLOWER
from bench.validity.run_rules import NoiseLimits
from calibration.report import false_words, spans, verdict
from calibration.tables import wall_s

FIRST, SECOND = "first", "second"
"""The roles of the two services of a table."""
TIMER_S = 0.002
"""How much longer than requested a wait in an event loop may take."""
LEAST = 0.9
"""The share of its maximum rate that a service serves at least."""
MOST_LINES = 20
"""At most this many windows are listed."""
IDLES = "busy for"
"""The beginning of the remark on a service that idles under load."""


@dataclass(frozen=True, slots=True)
class Serves:
    """A service that serves `at_once` requests at a time and takes `wait_s` for each; `least`: it only waits.

    `by_clock`: its responses are sent at fixed times. If other programs take the CPU, it catches up afterwards. Its
    speed, which is corrected for their time, may then exceed its rate; that is no fault as long as the table shows no
    difference.
    """

    at_once: int
    wait_s: float
    least: bool = True
    by_clock: bool = False

    @property
    def most(self) -> float:
        """Maximum requests/s."""
        return self.at_once / self.wait_s

    def at_least(self, cpu_each_s: float) -> float:
        """Minimum requests/s, if each takes this much CPU time in server and tool; 0 if unknown."""
        return LEAST * self.at_once / (self.wait_s + TIMER_S + self.at_once * cpu_each_s) if self.least else 0.0


class Same(Enum):
    """Why two services are equal: a clock gives their rates, or nothing differs but what chance shows.

    By a clock, no difference may be detected; chance may show one in 5 % of the tables.
    """

    NEVER = "by a clock"
    BY_CHANCE = "but for chance"


@dataclass(frozen=True, slots=True)
class Truth:
    """What a table must show, from truths.toml.

    `faster`: the role of the service that must be found faster. `idles`: the role of the service that the report must
    say idles. `share`: over all tables, the second serves at least this share of what the first serves.
    """

    scenario: str
    words: str
    serves: Mapping[str, Serves] = field(default_factory=dict)
    faster: str = ""
    same: Same | None = None
    idles: str = ""
    share: float = 0.0


TRUTHS = typed(list[Truth], tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["truth"])


@dataclass(frozen=True, slots=True)
class Window:
    """A window of one role: requests/s, the speed that ranks it, and the CPU time of a request in server and tool.

    `quiet`: other programs took so little of the host's CPUs that they did not lower requests/s.
    """

    role: str
    goodput: float
    speed: float
    cpu_each_s: float
    quiet: bool
    id: str = ""

    def impossible(self, serves: Serves) -> bool:
        """Whether requests/s are above the possible maximum."""
        return self.goodput > serves.most

    def inflated(self, serves: Serves) -> bool:
        """Whether its speed is above the maximum: then the correction for other programs was too large."""
        return self.speed > serves.most and not serves.by_clock

    def too_low(self, serves: Serves) -> bool:
        """Whether requests/s of a quiet window are below the service's minimum."""
        return self.quiet and self.goodput < serves.at_least(self.cpu_each_s)


@dataclass(frozen=True, slots=True)
class JudgedTable:
    """What one run says about one table: windows, contrasts as (role, role, verdict of the second), and remarks.

    `load_s`: the wall time of its windows; 0 without raw files.
    """

    windows: tuple[Window, ...]
    contrasts: tuple[tuple[str, str, str], ...]
    remarks: Mapping[str, str]
    load_s: float = 0.0
    run: str = ""

    def called(self) -> set[str]:
        """The roles that the table shows as faster than another one."""
        found = {b if verdict == FASTER else a for a, b, verdict in self.contrasts if verdict in (FASTER, SLOWER)}
        return found - {""}


@dataclass(frozen=True, slots=True)
class Result:
    """What all runs say about one truth."""

    truth: Truth
    tables: tuple[JudgedTable, ...]

    @property
    def windows(self) -> list[Window]:
        """The windows of all its tables."""
        return [window for table in self.tables for window in table.windows]

    def count(self, holds: Callable[[Window, Serves], bool]) -> int:
        """How many windows of services with a known rate meet a condition."""
        known = self.truth.serves
        return sum(holds(one, known[one.role]) for one in self.windows if one.role in known)

    @property
    def false(self) -> int:
        """How many tables have a false verdict: the wrong service is faster, or one of two equal ones."""
        if self.truth.same is None and not self.truth.faster:
            return 0
        return sum(bool(table.called() - {self.truth.faster}) for table in self.tables)

    @property
    def missing(self) -> int:
        """How many tables lack what they must show: the faster or idle service, a comparison, windows of both."""
        return sum(self._lacks(table) for table in self.tables)

    def _lacks(self, table: JudgedTable) -> bool:
        truth = self.truth
        silent = bool(truth.faster) and truth.faster not in table.called()
        idle = bool(truth.idles) and IDLES not in table.remarks.get(truth.idles, "")
        unjudged = truth.same is not None and not table.contrasts
        return silent or idle or unjudged or {one.role for one in table.windows} != {FIRST, SECOND}

    @property
    def share(self) -> float:
        """The median speed of the second relative to the first's; 0 without windows."""
        first, second = ([one.speed for one in self.windows if one.role == role] for role in (FIRST, SECOND))
        return median(second) / median(first) if first and second else 0.0

    @property
    def holds(self) -> bool:
        """Whether nothing is impossible, too low or missing, and chance can explain all false verdicts."""
        faults = self.missing + sum(map(self.count, (Window.impossible, Window.inflated, Window.too_low)))
        false = 0 if self.truth.same is Same.BY_CHANCE else self.false
        return not faults and not false and self.share >= self.truth.share

    def excesses(self) -> Iterator[tuple[bool, str]]:
        """Each window above the possible maximum: whether only its speed is, and a line about it."""
        for table in self.tables:
            for window in table.windows:
                known = self.truth.serves.get(window.role)
                if known and (window.impossible(known) or window.inflated(known)):
                    rates = f"{number(window.goodput)} requests/s, ranked as {number(window.speed)}/s"
                    line = f"- {table.run} {window.id}: {rates}, where {number(known.most)}/s can be"
                    yield not window.impossible(known), line

    def row(self) -> list[str]:
        """Its row in the table."""
        known = bool(self.truth.serves)
        share = f"{self.share:.3f} of the first" if self.truth.share else ""
        quiet = self.count(lambda window, serves: window.quiet and serves.least)
        return [
            self.truth.scenario,
            self.truth.words,
            "; ".join(filter(None, [*map(self._range, (FIRST, SECOND)), share])),
            f"{len(self.windows)} in {len(self.tables)}",
            str(self.count(Window.impossible)) if known else "",
            str(self.count(Window.inflated)) if known else "",
            f"{self.count(Window.too_low)} of {quiet}" if any(one.least for one in self.truth.serves.values()) else "",
            str(self.false) if self.truth.same or self.truth.faster else "",
            str(self.missing),
            f"{sum(table.load_s for table in self.tables):.0f} s",
            verdict(self.holds),
        ]

    def _range(self, role: str) -> str:
        rates = [one.goodput for one in self.windows if one.role == role]
        return f"{role} {number(min(rates))} to {number(max(rates))}/s" if rates else ""


HEADS = (
    *("table", "truth", "requests/s of windows", "windows in tables", "requests/s above what can be"),
    *("speed above what can be", "requests/s too low, in quiet windows", "tables with a false verdict"),
    *("without a word that must be there", "under load", ""),
)


def truths(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): each truth against the windows and verdicts of all runs."""
    tables: dict[str, list[JudgedTable]] = defaultdict(list)
    for folder in folders:
        for scenario, table in tables_of_run(folder):
            tables[scenario].append(table)
    results = [Result(truth, tuple(tables[truth.scenario])) for truth in TRUTHS if tables[truth.scenario]]
    if not results:
        raise UserError(f"{folders[0]} has none of the tables of this self-test")
    text, holds = report(results)
    times = [f"{Path(one).name}: {wall_s(one):.0f} s of wall time in turns." for one in folders]
    return "\n".join([text, *times]), holds


def report(results: Sequence[Result]) -> tuple[str, bool]:
    """As `truths`, of the results."""
    lines = [markdown_table(HEADS, (one.row() for one in results), range(3, len(HEADS) - 1))]
    holds = all(one.holds for one in results)
    same = [one for one in results if one.truth.same is Same.BY_CHANCE]
    if tables := sum(len(one.tables) for one in same):
        words, few = false_words(sum(one.false for one in same), tables, "tables of services that are the same")
        lines += ["", f"{words}: {verdict(few)}."]
        holds &= few
    wrong = [line for _, line in sorted((found for one in results for found in one.excesses()), key=lambda one: one[0])]
    lines += [""] * bool(wrong) + wrong[:MOST_LINES]
    lines += [f"- and {len(wrong) - MOST_LINES} more windows"] * (len(wrong) > MOST_LINES)
    return "\n".join(lines), holds


def tables_of_run(folder: str) -> Iterable[tuple[str, JudgedTable]]:
    """The tables of a run whose truth is known, each with the name of its truth."""
    facts, lines = read_compared(folder), objects_in(f"{folder}/verdicts.jsonl")
    for planned in facts.run.tables:
        if name := truth_of(planned.scenario):
            own = [line for line in lines if line["scenario"] == planned.scenario]
            records = [one for one in facts.records if one.mode == "turns" and one.scenario == planned.scenario]
            yield name, table_of(records, own, load_s(folder, planned.scenario), Path(folder).name)


def truth_of(scenario: str) -> str:
    """The name of a scenario's truth; empty if it has none."""
    names = [truth.scenario for truth in TRUTHS]
    return next((name for name in (scenario, re.sub(r"-\d+\Z", "", scenario)) if name in names), "")


def table_of(
    records: Iterable[Record], lines: Iterable[Mapping[str, Any]], load_s: float = 0.0, run: str = ""
) -> JudgedTable:
    """The table of these records and lines of verdicts.jsonl."""
    every = list(lines)
    contrasts = [(role_of(one["a"]), role_of(one["b"]), one["verdict"]) for one in every if one["kind"] == "contrast"]
    remarks = {role_of(one["service"]): str(one.get("note") or "") for one in every if one["kind"] == "service"}
    windows = [window_of(record) for record in records if record.outcome == MEASURED and record.goodput]
    return JudgedTable(tuple(windows), tuple(contrasts), remarks, load_s, run)


def window_of(record: Record) -> Window:
    """The window of a record with a rate, even if the validity gate rejected it."""
    used, goodput = (record.server_cpu_s, record.loadgen_cpu_s), record.goodput or 0.0
    each = sum(one or 0.0 for one in used) / (record.successes or 1)
    quiet = record.foreign_ratio is not None and record.foreign_ratio <= NoiseLimits().foreign
    return Window(role_of(record.service), goodput, record.speed or 0.0, each, quiet, record.id)


def role_of(service: str) -> str:
    """The role in a service's name; empty if there is none."""
    found = re.search(rf"-({FIRST}|{SECOND})-py", service)
    return found[1] if found else ""


def load_s(folder: str, scenario: str) -> float:
    """Wall time of the windows of a scenario over all rounds, in seconds; 0 without raw files."""
    found = spans(folder, f"raw/r*/b*/**/{scenario}/*/*/*/tool.json", "start_ns", "end_ns")
    windows = grouped(found, lambda one: one[0].parent.parent).values()
    return sum(max(end for _, _, end in group) - min(start for _, start, _ in group) for group in windows) / 1e9
