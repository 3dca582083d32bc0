"""The search for the knee: the highest rate with p99 within a limit, at most 0.1 % errors and 99 % of the rate sent.

- It starts below the rate of the warm-up, and goes up by the factor `NEAR` until a rate fails (or down until one
  holds). Without such an estimate, it starts at `START` and doubles (or halves).
- Then it bisects until the highest rate that holds and the lowest that fails are 5 % apart; the former is the knee.
- A rate fails only after a second failed trial: a single stall of a shared machine can fail a trial, but a rate above
  the knee does not hold by luck. A trial that fails beside other programs counts as half a failure.
- The rate that bounds the knee must fail again at the end of the search, so that a busy minute at the beginning is not
  mistaken for the knee.
- Rates are limited to those at which the load generator's own p99, measured on the null server, is far below the limit;
  otherwise the search would find the load generator's knee. If this is unknown, they are limited by its CPU time.
- A trial is long enough for a p99, and for 5 % overload to show: the queue then grows by 0.05 s per second, and reaches
  the limit after 20 times the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.records.evidence import MIN_SENT
from bench.records.knee import CLIENT, LIMITS, REQUESTS, Trial

START = 500
"""The rate of the first trial, in requests/s, if nothing is known about the service."""
OF_WARM_UP, NEAR = 0.6, 1.3
"""The first rate, as a share of the responses per second in the warm-up, and the factor between the next rates."""
SHORTEST_S, LONGEST_S = 2, 60
"""Bounds of the length of a trial, in seconds; it is above the minimum if p99 or the limit requires it."""
LOWEST = math.ceil(REQUESTS / LONGEST_S)
"""The lowest rate that is tried: below it, even the longest trial is too short for a p99."""
APART = 1.05
"""The search ends when the lowest failing and the highest holding rate differ by at most this factor."""
TRIES = 2
"""Number of failed trials for a rate to count as failing; twice as many beside other programs."""
MOST_TRIALS = 60


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The next step: a trial at `rate` for `seconds` or, if `done`, the measurement itself.

    When done, `rate` is the knee; with a `reason`, none was found, and `rate` is the closest to one. `ended_by` is
    CLIENT if the load generator could not send more.
    """

    rate: int
    seconds: int
    done: bool = False
    reason: str | None = None
    ended_by: str | None = None


def trial_seconds(rate: float, limit_s: float) -> int:
    """The length of a trial, in whole seconds."""
    return min(LONGEST_S, math.ceil(max(SHORTEST_S, LIMITS * limit_s, REQUESTS / rate)))


def trial_workers(rate: float, seconds: float, limit_s: float) -> int:
    """The maximum number of requests in flight in a trial.

    It is far above what a rate that holds needs: enough for a latency of 4 times the limit and a stall of 2 % of the
    time. More would not help, and would occupy thousands of ports for a minute.
    """
    return 64 + math.ceil(rate * (4 * limit_s + 0.02 * seconds))


def first_rate(warmed: float | None) -> int | None:
    """The first rate, given the responses per second in the warm-up."""
    return max(LOWEST, round(OF_WARM_UP * warmed)) if warmed else None


def next_search_step(
    trials: Sequence[Trial], limit_s: float, first: int | None = None, ceiling: float | None = None
) -> SearchStep:
    """The step after these trials, given in order.

    `first` is the rate of the first trial, an estimate near the knee. `ceiling` is the rate up to which the load
    generator's own p99 is far below the limit.
    """
    most = _most(trials, ceiling)
    higher = _own_limit(ceiling) if ceiling else f"the load generator: its CPUs allow {most:.0f}/s"
    rate, done, reason = _next(trials, limit_s, first or START, NEAR if first else 2, (most, higher))
    ended_by = CLIENT if done and _client_ended(trials, rate, limit_s, most) else None
    if done and not ended_by and ceiling and NEAR * rate > ceiling:
        ended_by = CLIENT
        reason = f"client-limited at {rate}/s: the server's knee may be higher ({_own_limit(ceiling)})"
    return SearchStep(rate, trial_seconds(rate, limit_s), done, reason, ended_by)


def _most(trials: Iterable[Trial], ceiling: float | None) -> float:
    """The highest rate to try. At higher rates, a request costs the load generator less, so trials may raise it."""
    if ceiling:
        return max(LOWEST, ceiling)
    known = [trial.rate / trial.busy for trial in trials if trial.busy and (trial.sent_ratio or 0.0) >= MIN_SENT]
    return max(LOWEST, *known) if known else math.inf


def _next(
    trials: Sequence[Trial], limit_s: float, first: int, factor: float, limit: tuple[float, str]
) -> tuple[int, bool, str | None]:
    tried: dict[int, list[list[str]]] = {}
    counted: dict[int, float] = {}
    for trial in trials:
        tried.setdefault(trial.rate, []).append(trial.faults(limit_s))
        counted[trial.rate] = counted.get(trial.rate, 0.0) + (0.5 if trial.noise else 1.0)
    held = [rate for rate, tries in tried.items() if not all(tries)]
    open_ones = [rate for rate, tries in tried.items() if all(tries) and counted[rate] < TRIES]
    failed = [rate for rate, tries in tried.items() if all(tries) and counted[rate] >= TRIES]
    if len(trials) >= MOST_TRIALS:
        return max(held, default=min(tried)), True, f"not found in {MOST_TRIALS} trials"
    if open_ones:
        return open_ones[0], False, None
    if not failed:
        return _climb(max(held, default=None), first, factor, *limit)
    least = min(failed)
    best = max((rate for rate in held if rate < least), default=None)
    if best is None:
        return _descend(least, tried[least][-1], factor)
    middle = round(math.sqrt(best * least))
    apart = least > APART * best and best < middle < least
    if apart or trials[-1].rate != least:
        return middle if apart else least, False, None
    return best, True, _client_bound([trial for trial in trials if trial.rate == least], best, limit_s)


def _climb(best: int | None, first: int, factor: float, most: float, why: str) -> tuple[int, bool, str | None]:
    if best is None:
        return int(min(first, most)), False, None
    if APART * best > most:
        return best, True, _higher(best, why)
    return int(min(round(factor * best), most)), False, None


def _descend(least: int, faults: Sequence[str], factor: float) -> tuple[int, bool, str | None]:
    if least > LOWEST:
        return max(LOWEST, int(least / factor)), False, None
    return least, True, f"it does not hold at {least}/s ({', '.join(faults)}), and lower rates take too long for a p99"


def _client_ended(trials: Sequence[Trial], best: int, limit_s: float, most: float) -> bool:
    """Whether this rate holds and, above it, only the load generator failed or would fail."""
    holds = any(trial.rate == best and not trial.faults(limit_s) for trial in trials)
    above = [trial for trial in trials if trial.rate > best]
    if not above:
        return holds and APART * best > most
    return holds and not any(fault for trial in above for fault in trial.server_faults(limit_s))


def _client_bound(failures: Iterable[Trial], best: int, limit_s: float) -> str | None:
    """Why it was not the server that ended the search; None if a trial above `best` failed because of the server."""
    if any(any(trial.server_faults(limit_s)) for trial in failures):
        return None
    faults = ", ".join(dict.fromkeys(fault for trial in failures for fault in trial.client_faults(limit_s)))
    return _higher(best, f"the load generator: {faults}")


def _own_limit(ceiling: float) -> str:
    return f"above {ceiling:.0f}/s the load generator's own p99, measured on the null server, is too near the limit"


def _higher(best: int, faults: str) -> str:
    return f"client-limited at {best}/s: the server's knee is higher ({faults})"
