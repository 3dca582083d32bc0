"""Pairs whose true difference is known: false differences in A/A pairs, and injected slowdowns that must be found."""

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
"""The largest share of A/A verdicts that are a difference."""
FOUND = 0.9
"""The share of tries in which a slowdown must be found."""
REQUEST_US = 400
"""Approximate CPU time of a request in the power preset; 12, 20 and 40 us are injected: 3, 5 and 10 %."""
WITHIN_S: Mapping[int, float] = {10: 20.0, 5: 30.0, 3: 60.0}
"""Slowdown in percent -> seconds of load within which it must be found."""
MAX_ERROR = 0.015
"""The largest error of the mean estimate."""
WINDOWS = 2
"""Windows of a pair in a round."""


@dataclass(frozen=True, slots=True)
class Try:
    """One pair: the slowdown that was injected, and the result.

    `percent` is the slowdown relative to `REQUEST_US`; `truth` and `difference` (the estimate) are B/A - 1.
    """

    percent: int
    verdict: str
    truth: float
    difference: float | None
    load_s: float


def verdicts_of(folder: str) -> list[dict[str, Any]]:
    """The pairs in a run's verdicts.jsonl, without controls; UserError where there are none."""
    path = Path(folder, "verdicts.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    pairs = [line for line in lines if line["verdict"] != "control"]
    if not pairs:
        raise UserError(f"{folder} has no verdicts: it is not a run of a self-test")
    return pairs


def aa(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds) of the A/A verdicts of runs: at most `WRONG` of them may be a difference.

    A few verdicts do not determine a share of 5 %, so the promise is missed only if the exact (Clopper-Pearson)
    interval lies above it.
    """
    from scipy.stats import binomtest

    words = [line["verdict"].partition(":")[0] for folder in folders for line in verdicts_of(folder)]
    counts = {word: words.count(word) for word in sorted(set(words))}
    wrong = counts.get(FASTER, 0) + counts.get(SLOWER, 0)
    interval = binomtest(wrong, len(words)).proportion_ci(0.95, "exact")
    rows = ["| verdict | pairs |", "| --- | ---: |", *(f"| {word} | {count} |" for word, count in counts.items())]
    share = f"{wrong} of {len(words)} verdicts are a difference where there is none: {wrong / len(words):.1%}"
    rows += ["", f"{share} (95 % interval {interval.low:.1%} to {interval.high:.1%}; allowed {WRONG:.0%})."]
    return "\n".join(rows), bool(interval.low <= WRONG)


def power(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds) of injected slowdowns: the share found in time, the load it took, the error."""
    tries = [one for folder in folders for one in tries_of(folder)]
    heads = ("slowdown", "found in time", "tries", "median load", "allowed", "truth", "mean estimate", "error", "")
    rows = [f"| {' | '.join(heads)} |", "| ---: " * (len(heads) - 1) + "| --- |"]
    all_hold = True
    for percent, group in groupby(sorted(tries, key=lambda one: one.percent), key=lambda one: one.percent):
        words, holds = _row(percent, list(group))
        rows.append(words)
        all_hold &= holds
    return "\n".join(rows), all_hold and bool(tries)


def tries_of(folder: str) -> list[Try]:
    """The slowdowns in a run."""
    facts = json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))
    window_s = float(facts["knobs"]["DUET_SECONDS"])
    with Path(folder, "records.jsonl").open(encoding="utf-8") as lines:
        base = cpu_of_base(load(lines))
    return [found for line in verdicts_of(folder) if (found := try_of(line, base, window_s)) is not None]


def cpu_of_base(records: Iterable[Record]) -> dict[str, float]:
    """CPU seconds per good answer of side a, over all windows, by pair."""
    spent: dict[str, list[tuple[float, int]]] = {}
    for record in records:
        if record.pair and record.side == "a" and record.valid and record.server_cpu_s and record.successes:
            spent.setdefault(record.pair, []).append((record.server_cpu_s, record.successes))
    return {pair: sum(cpu for cpu, _ in sums) / sum(good for _, good in sums) for pair, sums in spent.items()}


def try_of(line: Mapping[str, Any], base: Mapping[str, float], window_s: float) -> Try | None:
    """The try of a verdict; None where no slowdown was injected."""
    slower = re.search(r"-slower-(\d+)us-", line["b"])
    if not slower or line["pair"] not in base:
        return None
    injected_us = int(slower[1])
    # Relative to what a request took on this machine, not to the approximate REQUEST_US.
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
"""Self-test -> (its function, the file of a run that it needs: published runs have no records.jsonl)."""
