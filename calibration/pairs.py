"""Pairs whose truth is known beforehand: `selftest aa RUN...`, `selftest power RUN...`; several runs count as one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.analysis.verdicts import FASTER, SLOWER
from bench.core.errors import UserError
from bench.records.record import Record, load

WRONG = 0.05
"""Share of a twin's verdicts that may be a difference."""
FOUND = 0.9
"""Share of the tries in which a slowdown must be found."""
REQUEST_US = 400
"""CPU that a request of the power preset takes, about: what is injected (12, 20, 40 us) is 3, 5 and 10 % of it."""
WITHIN_S: Mapping[int, float] = {10: 20.0, 5: 30.0, 3: 60.0}
"""Seconds of load in which it must be found, by its percent."""
MAX_ERROR = 0.015
"""How far the mean estimate may be from the truth."""
WINDOWS = 2
"""Of a pair in a round."""


@dataclass(frozen=True, slots=True)
class Try:
    """One pair: what was put there, what was found.

    `percent` is of `REQUEST_US`, `truth` and `difference` are B/A - 1, the load is in seconds.
    """

    percent: int
    verdict: str
    truth: float
    difference: float | None
    load_s: float


def verdicts_of(folder: str) -> list[dict[str, Any]]:
    """The pairs of verdicts.jsonl; UserError where the run has none."""
    path = Path(folder, "verdicts.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    pairs = [line for line in lines if line["verdict"] != "control"]
    if not pairs:
        raise UserError(f"{folder} has no verdicts: it is not a run of this self-test")
    return pairs


def aa(folders: Sequence[str]) -> tuple[str, bool]:
    """Verdicts on a service and its twin, and whether no more than `WRONG` of them are a difference.

    A few verdicts cannot show a share of 5 %: what they exclude is said by the exact (Clopper-Pearson) interval, and
    the promise is missed where that interval lies above 5 %.
    """
    from scipy.stats import binomtest

    words = [line["verdict"].partition(":")[0] for folder in folders for line in verdicts_of(folder)]
    counts = {word: words.count(word) for word in sorted(set(words))}
    wrong = counts.get(FASTER, 0) + counts.get(SLOWER, 0)
    interval = binomtest(wrong, len(words)).proportion_ci(0.95, "exact")
    rows = ["| verdict | pairs |", "| --- | ---: |", *(f"| {word} | {count} |" for word, count in counts.items())]
    told = f"{wrong} of {len(words)} verdicts are a difference that is none: {wrong / len(words):.1%}"
    rows += ["", f"{told} (95 % interval {interval.low:.1%} to {interval.high:.1%}; allowed {WRONG:.0%})."]
    return "\n".join(rows), bool(interval.low <= WRONG)


def power(folders: Sequence[str]) -> tuple[str, bool]:
    """Slowdowns that were put there: the share found in time, the load that took, the error of the estimates."""
    tries = [one for folder in folders for one in tries_of(folder)]
    heads = ("slowdown", "found in time", "tries", "median load", "allowed", "truth", "mean estimate", "error", "")
    rows = [f"| {' | '.join(heads)} |", "| ---: " * (len(heads) - 1) + "| --- |"]
    every = True
    for percent, group in groupby(sorted(tries, key=lambda one: one.percent), key=lambda one: one.percent):
        words, holds = _row(percent, list(group))
        rows.append(words)
        every &= holds
    return "\n".join(rows), every and bool(tries)


def tries_of(folder: str) -> list[Try]:
    """The slowdowns of one run."""
    facts = json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))
    window_s = float(facts["knobs"]["DUET_SECONDS"])
    with Path(folder, "records.jsonl").open(encoding="utf-8") as lines:
        base = cpu_of_base(load(lines))
    return [found for line in verdicts_of(folder) if (found := a_try(line, base, window_s)) is not None]


def cpu_of_base(records: Iterable[Record]) -> dict[str, float]:
    """CPU seconds of a good answer of each pair's side a, over all of its windows."""
    spent: dict[str, list[tuple[float, int]]] = {}
    for record in records:
        if record.pair and record.side == "a" and record.valid and record.server_cpu_s and record.successes:
            spent.setdefault(record.pair, []).append((record.server_cpu_s, record.successes))
    return {pair: sum(cpu for cpu, _ in sums) / sum(good for _, good in sums) for pair, sums in spent.items()}


def a_try(line: Mapping[str, Any], base: Mapping[str, float], window_s: float) -> Try | None:
    """What one verdict says of a slowdown; None where the pair is none of the self-test's."""
    slower = re.search(r"-slower-(\d+)us-", line["b"])
    if not slower or line["pair"] not in base:
        return None
    injected_us = int(slower[1])
    # By what a request took on this machine, and not by what it takes about.
    truth = 1 / (1 + injected_us / 1e6 / base[line["pair"]]) - 1
    load_s = line["rounds"] * WINDOWS * window_s
    return Try(round(100 * injected_us / REQUEST_US), line["verdict"], truth, line["difference"], load_s)


def _row(percent: int, tries: Sequence[Try]) -> tuple[str, bool]:
    allowed = WITHIN_S.get(percent, 0.0)
    found = [one for one in tries if one.verdict == SLOWER]
    in_time = sum(one.load_s <= allowed for one in found)
    estimates = [(one.difference, one.truth) for one in tries if one.difference is not None]
    error = fmean(value - truth for value, truth in estimates) if estimates else None
    holds = in_time >= FOUND * len(tries) and error is not None and abs(error) <= MAX_ERROR
    took = f"{median(one.load_s for one in found):.0f} s" if found else "not found"
    words = [f"{percent} %", f"{in_time} of {len(tries)}", str(len(tries)), took, f"{allowed:.0f} s"]
    words += [f"{100 * fmean(truth for _, truth in estimates):+.1f} %" if estimates else "", _percent(estimates)]
    words += ["" if error is None else f"{100 * error:+.1f} points", "holds" if holds else "MISSED"]
    return f"| {' | '.join(words)} |", holds


def _percent(estimates: Sequence[tuple[float, float]]) -> str:
    return f"{100 * fmean(value for value, _ in estimates):+.1f} %" if estimates else "none"


PAIRS: Mapping[str, tuple[Callable[[Sequence[str]], tuple[str, bool]], str]] = {
    "aa": (aa, "verdicts.jsonl"),
    "power": (power, "records.jsonl"),
}
"""Each self-test of pairs, with the file that it reads of a run: what is published has no records."""
