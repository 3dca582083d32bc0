"""The knee: the highest rate at which p99 stays within a limit, errors at 0.1 % and 99 % of the rate is sent.

The rate is doubled from `START` until it fails (or halved until it holds), then bisected until what holds and what
fails are 5 % apart; the knee is the one that holds. What fails is tried a second time before it counts: one stall of
a shared machine fails a trial, while a rate above the knee does not hold by luck. And what bounds the knee must fail
at the end of the search too, or a busy minute at its beginning would pass for the knee. A trial lasts as long as p99
needs requests, and long enough for 5 % too much to be seen: then the queue grows by 0.05 s in each second, and
reaches the limit after 20 times the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.records.knee import LIMITS, REQUESTS, Trial

START = 500
"""Requests/s of the first trial."""
HIGHEST = 64_000
"""Requests/s above which nothing is asked."""
SHORTEST_S, LONGEST_S = 3, 60
"""Seconds of a trial: 3 and more where p99 or the limit need it."""
LOWEST = math.ceil(REQUESTS / LONGEST_S)
"""Requests/s below which the longest trial is too short for a p99."""
APART = 1.05
"""What fails, to what holds, at the end."""
TRIES = 2
"""Trials of one rate that must fail."""
MOST_TRIALS = 60


@dataclass(frozen=True, slots=True)
class SearchStep:
    """What to do next: a trial of `rate` for `seconds`, or (`done`) the measurement itself.

    Without a `reason`, `rate` is then the knee; with one there is none, and `rate` is only the nearest to it.
    """

    rate: int
    seconds: int
    done: bool = False
    reason: str | None = None


def trial_seconds(rate: float, limit_s: float) -> int:
    """How long a trial lasts: whole seconds."""
    return min(LONGEST_S, math.ceil(max(SHORTEST_S, LIMITS * limit_s, REQUESTS / rate)))


def trial_workers(rate: float, seconds: float, limit_s: float) -> int:
    """How many requests may be open in a trial.

    Far more than a rate that holds can have open: as long as 4 limits for all, and as a stall of 2 % of the time.
    More would tell nothing, and the ports of thousands of connections are not free again for a minute.
    """
    return 64 + math.ceil(rate * (4 * limit_s + 0.02 * seconds))


def next_search_step(trials: Sequence[Trial], limit_s: float) -> SearchStep:
    """What to do after these trials, in their order: pure."""
    rate, done, reason = _next(trials, limit_s)
    return SearchStep(rate, trial_seconds(rate, limit_s), done, reason)


def _next(trials: Sequence[Trial], limit_s: float) -> tuple[int, bool, str | None]:
    tried: dict[int, list[list[str]]] = {}
    for trial in trials:
        tried.setdefault(trial.rate, []).append(trial.faults(limit_s))
    held = [rate for rate, tries in tried.items() if not all(tries)]
    open_ones = [rate for rate, tries in tried.items() if all(tries) and len(tries) < TRIES]
    failed = [rate for rate, tries in tried.items() if all(tries) and len(tries) >= TRIES]
    if len(trials) >= MOST_TRIALS:
        return max(held, default=min(tried)), True, f"not found in {MOST_TRIALS} trials"
    if open_ones:
        return open_ones[0], False, None
    if not failed:
        return _climb(max(held, default=None))
    least = min(failed)
    best = max((rate for rate in held if rate < least), default=None)
    if best is None:
        return _descend(least, tried[least][-1])
    middle = round(math.sqrt(best * least))
    apart = least > APART * best and best < middle < least
    if apart or trials[-1].rate != least:
        return middle if apart else least, False, None
    return best, True, _client_bound([trial for trial in trials if trial.rate == least], best, limit_s)


def _climb(best: int | None) -> tuple[int, bool, str | None]:
    if best is None:
        return START, False, None
    if 2 * best > HIGHEST:
        return best, True, f"it holds at {best}/s, and more is not asked"
    return 2 * best, False, None


def _descend(least: int, faults: Sequence[str]) -> tuple[int, bool, str | None]:
    if least > LOWEST:
        return max(LOWEST, least // 2), False, None
    return least, True, f"it does not hold at {least}/s ({', '.join(faults)}), and below p99 takes too long"


def _client_bound(failures: Iterable[Trial], best: int, limit_s: float) -> str | None:
    """Why the end of the search is not the server's, where no trial above it failed through the server."""
    if any(any(trial.server_faults(limit_s)) for trial in failures):
        return None
    told = ", ".join(dict.fromkeys(fault for trial in failures for fault in trial.client_faults(limit_s)))
    return f"it holds at {best}/s, above which the load generator failed: {told}"
