"""Durations and deadlines use a monotonic clock; the time of day only says when something happened."""

from __future__ import annotations

import re
from pathlib import Path

from places import ROOT

SHELL = re.compile(r"(?<![\[\w])SECONDS\b(?!\])|EPOCHREALTIME|EPOCHSECONDS|date [^|;]*\+[^ ]*%s")
PYTHON = re.compile(r"\btime\.time\(|\btime_ns\(\)")
ALLOWED = {
    ("scripts/lib/common.sh", "where there is no /proc/uptime"): 1,
    ("driver/steps/measure.py", "when a step began, had its load, and ended, with a load or without one"): 4,
    ("driver/steps/events.py", "when something was done to a service or a dependency"): 2,
    ("driver/steps/rolling.py", "when one of two containers was sent a signal, and by which clock"): 2,
    ("driver/services/verify.py", "when a service had started"): 1,
    ("driver/engines/dead_runs.py", "how old a network is, whose time of day the engine has"): 1,
    ("driver/lifecycle/clean.py", "how old a folder is, and an image"): 2,
    ("driver/nodes/swarm_verbs.py", "how far the clocks of nodes are apart"): 2,
    ("bench/load/answers.py", "when a service was ready, and warm"): 2,
    ("bench/load/save.py", "when a load began and ended"): 2,
    ("driver/planning/packages.py", "a word that is never the same twice"): 1,
    ("driver/planning/refs.py", "how old a folder is"): 1,
    ("driver/steps/stacks.py", "of a profile, no figure that is ranked"): 1,
    ("bench/load/kernel_counters.py", "when the tool's threads were seen"): 1,
    ("bench/load/event.py", "when a window begins and ended"): 2,
    ("bench/events/overload/load.py", "how far two clocks are apart"): 1,
    ("bench/load/in_turns.py", "when a window began and ended"): 2,
}
"""Lines that read the time of day, by file and reason."""


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]


def test_the_time_of_day_is_no_stopwatch() -> None:
    files = [
        path
        for folder in ("scripts", "loadgen", "bench", "driver")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".sh", ".bash", ".py")
    ]
    found = {
        str(path.relative_to(ROOT)): count
        for path in (*files, ROOT / "loadgen/measure", ROOT / "loadgen/bench")
        if (count := sum(bool((PYTHON if path.suffix == ".py" else SHELL).search(line)) for line in lines_of(path)))
    }
    assert found == {file: count for (file, _), count in ALLOWED.items()}


def test_the_rule_finds_what_it_is_for() -> None:
    for line in ("((SECONDS < end))", "end=$SECONDS", "begin=$(date +%s%N)", "x=${EPOCHREALTIME/./}"):
        assert SHELL.search(line), line
    assert PYTHON.search("began = time.time()") and PYTHON.search("time.time_ns()")
    for line in ("ANSWER[SECONDS]=1", "[SECONDS]=''", "TURN_SECONDS=1", "date '+%F %T'"):
        assert not SHELL.search(line), line
    assert not PYTHON.search("time.monotonic()")
