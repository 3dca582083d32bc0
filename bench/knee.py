"""The knee: the highest rate at which p99 stays within a limit, errors at 0.1 % and 99 % of the rate is sent.

The rate is doubled from `START` until it fails (or halved until it holds), then bisected until what holds and what
fails are 5 % apart; the knee is the one that holds. What fails is tried a second time before it counts: one stall of
a shared machine fails a trial, while a rate above the knee does not hold by luck. And what bounds the knee must fail
at the end of the search too, or a busy minute at its beginning would pass for the knee. A trial lasts as long as p99
needs requests, and long enough for 5 % too much to be seen: then the queue grows by 0.05 s in each second, and
reaches the limit after 20 times the limit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.drive.step_file import plain
from bench.errors import UserError
from bench.files import write_file
from bench.levels import SEARCHED
from bench.parse import Parsed, parse
from bench.rundir import Planned, as_object, mapping, read_bytes
from bench.schedule import Lag, least_requests, read_lag
from bench.validity import MAX_ERRORS, MIN_SENT, Evidence

START = 500
"""Requests/s of the first trial."""
HIGHEST = 64_000
"""Requests/s above which nothing is asked."""
SHORTEST_S, LONGEST_S = 3, 60
"""Seconds of a trial: 3 and more where p99 or the limit need it."""
LIMITS = 25
"""A trial lasts at least so many times the limit."""
REQUESTS = least_requests(0.99)
"""Requests that a trial sends at least."""
LOWEST = math.ceil(REQUESTS / LONGEST_S)
"""Requests/s below which the longest trial is too short for a p99."""
APART = 1.05
"""What fails, to what holds, at the end."""
TRIES = 2
"""Trials of one rate that must fail."""
MOST_TRIALS = 60
CONFIRMATIONS = 3
"""Later rounds in which the rate must hold."""

NO_KNEE_ASKED = "the level asks for no knee"
_TRIAL = re.compile(r"(\d+)-(\d+)-\d+\Z", re.ASCII)
_CLIENT = re.compile(rb"too many open files|cannot assign requested address", re.I)


@dataclass(frozen=True, slots=True)
class Trial:
    """One attack: share of the rate that was sent, share of errors, p99 in seconds; None where its output is none.

    `due_p99_s` is the p99 from the asked times: beyond the limit, where `p99_s` is not, it is the load generator's
    lag. Lag within it is no harm, unlike in a table of latencies. `client` says what else the load generator is to
    blame for.
    """

    rate: int
    sent_ratio: float | None
    error_ratio: float | None
    p99_s: float | None
    client: tuple[str, ...] = ()
    due_p99_s: float | None = None

    def server_faults(self, limit_s: float) -> Iterator[str]:
        """What the server did not hold."""
        if self.p99_s is not None and self.p99_s > limit_s:
            yield f"p99 {1000 * self.p99_s:.3g} ms"
        if self.error_ratio is not None and self.error_ratio > MAX_ERRORS:
            yield f"{self.error_ratio:.2%} errors"

    def client_faults(self, limit_s: float) -> Iterator[str]:
        """What was not asked as it should have been."""
        if self.p99_s is None or self.error_ratio is None:
            yield "too few requests for a p99"
        if self.p99_s is not None and self.due_p99_s is not None and self.p99_s <= limit_s < self.due_p99_s:
            yield f"p99 {1000 * self.due_p99_s:.3g} ms from the asked times, {1000 * self.p99_s:.3g} ms as sent"
        if self.sent_ratio is not None and self.sent_ratio < MIN_SENT:
            yield f"{self.sent_ratio:.1%} of the rate sent"
        yield from self.client

    def faults(self, limit_s: float) -> list[str]:
        """Why the rate does not hold; empty where it does."""
        return [*self.server_faults(limit_s), *self.client_faults(limit_s)]


@dataclass(frozen=True, slots=True)
class Step:
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


def next_step(trials: Sequence[Trial], limit_s: float) -> Step:
    """What to do after these trials, in their order: pure."""
    rate, done, reason = _next(trials, limit_s)
    return Step(rate, trial_seconds(rate, limit_s), done, reason)


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


def trial_of(rate: int, parsed: Parsed | None, lag: Lag | None, output: bytes = b"") -> Trial:
    """A trial from vegeta's report and its lag."""
    if parsed is None or lag is None or not parsed.attempts or parsed.ok is None:
        return Trial(rate, None, None, None)
    attack = (parsed.extra or {}).get("attack_s")
    sent = parsed.attempts / (attack + 1 / rate) if isinstance(attack, int | float) else None
    client = [*lag.shortage(), *(["too many open files, or no port left"] if _CLIENT.search(output) else [])]
    enough = parsed.attempts >= REQUESTS * MIN_SENT
    return Trial(
        rate,
        None if sent is None else sent / rate,
        1 - parsed.ok / parsed.attempts,
        lag.as_sent_s["p99"] if enough else None,
        tuple(client),
        lag.from_schedule_s["p99"] if enough else None,
    )


def as_searched(planned: Planned, knee: Mapping[str, Any] | None) -> Planned:
    """The plan's line with the rate and duration that a search gave it."""
    rate, seconds = (mapping(knee).get(key) for key in ("rate", "seconds"))
    if planned.knee_p99_s is None or not _positive(rate) or not _positive(seconds):
        return planned
    return replace(planned, rate=rate, duration_s=seconds)


def knee_figure(evidence: Evidence, knee: Mapping[str, Any] | None, absent: str) -> tuple[float | None, str]:
    """The rate that this measurement found, or at which it held, with the reason that stands for it when null."""
    asked = evidence.asked
    if asked.knee_p99_s is None or mapping(knee).get("share") is not None:
        return None, NO_KNEE_ASKED
    if knee is None or asked.rate is None:
        return None, absent if knee is None else "knee.json does not tell"
    if knee.get("reason") is not None:
        return None, str(knee["reason"])
    if knee.get("found_in") is None:
        return asked.rate, ""
    trial = trial_of(round(asked.rate), evidence.parsed, evidence.lag, evidence.output)
    faults = trial.faults(asked.knee_p99_s)
    return (None, f"did not hold: {', '.join(faults)}") if faults else (asked.rate, "")


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


def run(argv: Sequence[str]) -> int:
    """`knee FOLDER LIMIT_S DURATION_S DEADLINE_S [SHARE]`: print the next step of a search in one line.

    It is `try RATE SECONDS WORKERS DEADLINE_S`, or `done RATE SECONDS` after knee.json and knee.sh (the same for bash)
    are written. FOLDER is a measurement's own, with its trials so far; DEADLINE_S is that of a load of DURATION_S. An
    earlier round that found the knee ends the search at once. With a SHARE there is no search: the rate is that share
    of the least knee of all services in this run and scenario.
    """
    if len(argv) not in (4, 5):
        raise UserError("knee takes a folder, a limit, a duration and a deadline in seconds, and a share or none")
    folder, limit_s, duration = Path(argv[0]), float(argv[1]), math.ceil(float(argv[2]))
    trials, found_in, share = _trials(folder), None, float(argv[4]) if len(argv) == 5 else None
    if share is not None:
        found_in, least = _slowest(folder, limit_s)
        rate = max(1, math.floor(share * least))
        step = Step(rate, min(LONGEST_S, math.ceil(REQUESTS / rate)), done=True)
    elif not trials and (earlier := _earlier(folder)):
        found_in, rate = earlier
        step = Step(rate, trial_seconds(rate, limit_s), done=True)
    else:
        step = next_step(trials, limit_s)
    seconds = max(step.seconds, duration) if step.done else step.seconds
    deadline = plain(seconds + float(argv[3]) - float(argv[2]))
    if step.done:
        facts: dict[str, Any] = {"schema": 1, "p99_s": limit_s, "share": share, "rate": step.rate, "seconds": seconds}
        facts |= {"reason": step.reason, "found_in": found_in}
        facts["trials"] = [
            {"rate": t.rate, "sent_ratio": t.sent_ratio, "error_ratio": t.error_ratio, "p99_s": t.p99_s}
            | {"due_p99_s": t.due_p99_s, "faults": t.faults(limit_s)}
            for t in trials
        ]
        write_file(folder / "knee.sh", f"LOAD+=([RATE]={step.rate} [DURATION]={seconds} [DEADLINE]={deadline})\n")
        write_file(folder / "knee.json", json.dumps(facts) + "\n")
        print("done", step.rate, seconds)
    else:
        print("try", step.rate, seconds, trial_workers(step.rate, seconds, limit_s), deadline)
    return 0


def _trials(folder: Path) -> list[Trial]:
    """The trials of a measurement in their order, from their raw files."""
    trials = []
    named = sorted(
        (int(found[1]), int(found[2]), path) for path in folder.glob("trials/*") if (found := _TRIAL.match(path.name))
    )
    for _, rate, path in named:
        output = read_bytes(f"{path}/output.json")
        parsed = None if output is None else parse("vegeta", output)
        lag = read_lag(as_object(read_bytes(f"{path}/lag.json") or b""))
        trials.append(trial_of(rate, parsed, lag, output or b""))
    return trials


def _found(path: Path) -> int | None:
    """The knee that a search's knee.json tells."""
    facts = mapping(as_object(read_bytes(str(path)) or b""))
    rate = facts.get("rate")
    searched = facts.get("reason") is None and facts.get("found_in") is None and facts.get("share") is None
    return rate if searched and isinstance(rate, int) and _positive(rate) else None


def _earlier(folder: Path) -> tuple[str, int] | None:
    """(round, knee) of the first earlier round that found this cell's; `folder` ends in ROUND/SERVICE/SCENARIO/CELL."""
    own, service, scenario, cell = folder.parts[-4:]
    for path in sorted(Path(*folder.parts[:-4]).glob(f"r*/{service}/{scenario}/{cell}/knee.json")):
        name = path.parts[-5]
        if name < own and (rate := _found(path)) is not None:
            return name, rate
    return None


def _slowest(folder: Path, limit_s: float) -> tuple[str, int]:
    """(where, knee) of the slowest service of this run in this scenario; UserError when no knee was found."""
    scenario = folder.parts[-2]
    found: dict[str, tuple[str, int]] = {}
    cell = f"vegeta-{knee_level(limit_s)}"
    for path in sorted(Path(*folder.parts[:-4]).glob(f"r*/*/{scenario}/{cell}/knee.json")):
        if (rate := _found(path)) is not None:
            found.setdefault(path.parts[-4], (f"{path.parts[-5]} {path.parts[-4]}", rate))
    if not found:
        raise UserError(f"no knee of {scenario} was found in this run, of which this level is a share")
    return min(found.values(), key=lambda where_rate: where_rate[1])


def knee_level(limit_s: float) -> str:
    """The name of the level that searches it."""
    return f"{SEARCHED}p99-{round(1000 * limit_s)}ms"
