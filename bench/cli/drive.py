"""Verbs for the loop that measures: `next` for the host; `knee`, `schedule` and `tool-json` for the load generator."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.files import write_file
from bench.drive.knee_search import LONGEST_S, SearchStep, next_search_step, trial_seconds, trial_workers
from bench.drive.knee_trials import earlier_knee, slowest_knee, trials_of
from bench.drive.next_step import Shown, next_step
from bench.drive.progress import Screen
from bench.drive.step_file import plain
from bench.drive.tool_json import tool_object
from bench.load.block import load_block, read_block, wait_until_ready
from bench.records.knee import REQUESTS
from bench.records.send_lag import lag_facts, latency_facts, read_csv
from bench.run.folder import find_run


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


def next_verb(argv: Sequence[str]) -> int:
    """`next RUN --elapsed SECONDS`: record the last step, print how far the run is, write the next step to RUN/step.sh.

    SECONDS are those since the caller's script began; `--begin` is for the first call of a loop. The exit status is 0
    with a step, 3 when nothing is left, 4 when the time is up: the last line printed then says how to go on.
    """
    parser = Parser("next")
    parser.add_argument("run")
    parser.add_argument("--elapsed", type=float, required=True)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--max-time", type=float)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--colour", action="store_true")
    options = parser.parse_args(argv)
    folder = find_run(options.run)
    shown = Shown(options.elapsed, Screen(options.quiet, options.columns, options.colour))
    try:
        status = next_step(folder, shown, begin=options.begin, max_time_s=options.max_time)
    except OSError as error:
        raise UserError(f"cannot write to {error.filename or folder}: {error.strerror}") from error
    print(*shown.lines, sep="\n", end="\n" if shown.lines else "")
    return status


def turns_verb(argv: Sequence[str]) -> int:
    """`turns ready|load RUN`: wait for the services of the block in RUN/step.jsonl; load them in turns."""
    if len(argv) != 2 or argv[0] not in ("ready", "load"):
        raise UserError("usage: python3 -m bench turns ready|load RUN")
    block = read_block(Path(argv[1]))
    if argv[0] == "ready":
        wait_until_ready(block)
    else:
        mark = os.environ.get("TURN_MARK_MS")
        load_block(block, os.environ.get("SEED", ""), int(mark) / 1000 if mark else None)
    return 0


def tool_json_verb(argv: Sequence[str]) -> int:
    """`tool-json FILE < WORDS`: write tool.json, made of NUL-separated words, over the preallocated FILE."""
    if len(argv) != 1:
        raise UserError("tool-json takes a file, and words on standard input")
    words = sys.stdin.buffer.read().decode(errors="replace").split("\0")[:-1]
    text = json.dumps(tool_object(words), ensure_ascii=False, separators=(",", ":")) + "\n"
    # In place: on a full disk, the blocks that the file already has are the only ones.
    with Path(argv[0]).open("r+b") as file:
        file.write(text.encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return 0
