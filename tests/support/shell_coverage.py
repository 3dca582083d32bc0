"""Runs a command and prints which lines of the measuring loop it executed: shell_coverage.py COMMAND...

Fails if the command fails, or if it executed less than LEAST of them.

The loop is scripts/matrix.sh, scripts/measure.sh, loadgen/bench and what they source. A line counts if a command starts
on it (by shfmt's syntax tree), and is covered if bash's trace (trace.bash) has that command. Code after `set +x` is
not seen. (kcov does the same, but mixes parts of multi-line commands into the tests' output.)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from masked_failures import walk

ROOT = Path(__file__).resolve().parents[2]
STARTS = ("scripts/matrix.sh", "scripts/measure.sh", "loadgen/bench")
LEAST = 0.75
"""The lowest share of lines that passes."""
COMMANDS = frozenset({"CallExpr", "DeclClause", "TestClause", "ArithmCmd", "LetClause"})
SOURCED = re.compile(r"^\s*# shellcheck source=(?!/dev/null)(\S+)", re.MULTILINE)
TRACED = re.compile(rb"^\++([^:\n]+):(\d+):", re.MULTILINE)


def the_loop() -> list[str]:
    """The files of the measuring loop, relative to the project."""
    found: set[str] = set()
    wanted = [*STARTS]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += SOURCED.findall((ROOT / name).read_text())
    return sorted(found)


def commands(script: str) -> dict[int, int]:
    """First line -> last line of all commands of a script."""
    done = subprocess.run(["shfmt", "--to-json"], input=script, capture_output=True, text=True, check=True)
    lines: dict[int, int] = {}
    for node in walk(json.loads(done.stdout)):
        if node.get("Type") in COMMANDS:
            first, last = node["Pos"]["Line"], node["End"]["Line"]
            lines[first] = max(lines.get(first, 0), last)
    return lines


def executed(lines: Mapping[int, int], traced: set[int]) -> set[int]:
    """The first lines of the commands in a trace; bash traces some commands with the number of a later line."""
    return {
        first
        for first, last in lines.items()
        if first in traced or any(line in traced and line not in lines for line in range(first + 1, last + 1))
    }


def traced_lines(folder: Path) -> dict[str, set[int]]:
    """The traced line numbers of each file (path relative to the project), from all traces of a folder."""
    found: dict[str, set[int]] = defaultdict(set)
    names: dict[bytes, str] = {}
    for trace in folder.iterdir():
        for file, line in set(TRACED.findall(trace.read_bytes())):
            if file not in names:
                names[file] = os.path.relpath(os.path.realpath(ROOT / os.fsdecode(file)), ROOT)
            found[names[file]].add(int(line))
    return found


def report(loop: Sequence[str], traced: Mapping[str, set[int]]) -> Iterator[str]:
    """The lines to print: one per file, and the total, as a failed TAP line if it is below LEAST."""
    total = reached = 0
    for name in loop:
        lines = commands((ROOT / name).read_text())
        seen = executed(lines, traced.get(name, set()))
        total, reached = total + len(lines), reached + len(seen)
        if lines:
            yield f"#   {len(seen) / len(lines):4.0%} {name} ({len(seen)} of {len(lines)})"
    mark = "#" if reached >= LEAST * total else "not ok -"
    yield f"{mark} line coverage of the measuring loop in bash: {reached / total:.0%} ({reached} of {total} lines)"


def main(command: Sequence[str]) -> int:
    """Run the command, print its coverage, and end with its status."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(__file__).with_name("trace.bash")
        env = {**os.environ, "BASH_ENV": str(trace), "TRACES": folder}
        status = subprocess.run(command, env=env, check=False).returncode
        lines = [*report(the_loop(), traced_lines(Path(folder)))]
    print(*lines, sep="\n")
    return status or int(lines[-1].startswith("not ok"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
