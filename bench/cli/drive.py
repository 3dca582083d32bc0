"""Verbs for the load generator, around a load at a fixed rate: `knee` and `schedule`."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, read_bytes, write_file
from bench.drive.knee_search import LONGEST_S, SearchStep, next_search_step, trial_seconds, trial_workers
from bench.drive.knee_trials import earlier_knee, slowest_knee, trials_of
from bench.drive.step_file import plain
from bench.records.knee import REQUESTS
from bench.records.send_lag import lag_facts, latency_facts, merged_latency_facts, read_csv


def send_lag_verb(argv: Sequence[str]) -> int:
    """`schedule RATE TIMEOUT_S WORKERS FOLDER < CSV`: write .lag.json.tmp and .latencies.json.tmp there."""
    try:
        rate, timeout_s, workers, folder = float(argv[0]), float(argv[1]), int(argv[2]), Path(argv[3])
        # The CSV holds response bodies.
        csv.field_size_limit(1 << 30)
        attack = read_csv(sys.stdin, timeout_s)
    except (IndexError, ValueError, csv.Error) as error:
        raise UserError(f"usage: python3 -m bench schedule RATE TIMEOUT_S WORKERS FOLDER < CSV: {error}") from error
    files = {"lag": lag_facts(attack, rate, workers), "latencies": latency_facts(attack)}
    for name, facts in files.items():
        (folder / f".{name}.json.tmp").write_text(json.dumps(facts, separators=(",", ":")) + "\n")
    return 0


def merge_latencies_verb(argv: Sequence[str]) -> int:
    """`merge-latencies FILE...`: print the latencies.json of all together, where load generators shared a load."""
    facts = [as_object(read_bytes(file) or b"") for file in argv]
    known = [one for one in facts if one is not None]
    if len(known) < max(1, len(facts)):
        raise UserError("usage: python3 -m bench merge-latencies FILE...: one is missing, or is not a JSON object")
    try:
        print(json.dumps(merged_latency_facts(known), separators=(",", ":")))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"one of {', '.join(argv)} is not a latencies.json: {error}") from error
    return 0


def knee_verb(argv: Sequence[str]) -> int:
    """`knee FOLDER LIMIT_S DURATION_S DEADLINE_S [SHARE]`: print the next step of a search for a knee.

    It is `try RATE SECONDS WORKERS DEADLINE_S`, or `done RATE SECONDS` once knee.json and knee.sh (the same for bash)
    are written. FOLDER is the measurement's, with its trials so far; DEADLINE_S is the deadline of a load of
    DURATION_S. If an earlier round found the knee, it is taken over. With a SHARE nothing is searched: the rate is
    that share of the lowest knee of all services in this run and scenario.
    """
    if len(argv) not in (4, 5):
        raise UserError("usage: python3 -m bench knee FOLDER LIMIT_S DURATION_S DEADLINE_S [SHARE]")
    folder, limit_s, duration = Path(argv[0]), float(argv[1]), math.ceil(float(argv[2]))
    trials, found_in, share = trials_of(folder), None, float(argv[4]) if len(argv) == 5 else None
    if share is not None:
        found_in, least = slowest_knee(folder, limit_s)
        rate = max(1, math.floor(share * least))
        step = SearchStep(rate, min(LONGEST_S, math.ceil(REQUESTS / rate)), done=True)
    elif not trials and (earlier := earlier_knee(folder)):
        found_in, rate = earlier
        step = SearchStep(rate, trial_seconds(rate, limit_s), done=True)
    else:
        step = next_search_step(trials, limit_s)
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
