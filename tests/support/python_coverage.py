"""Runs pytest and prints the line coverage of bench/ and driver/, and the worst modules: python_coverage.py ARGUMENT...

Fails if the coverage is below LEAST. With `--quiet` as the first argument, coverage is only saved in /coverage, for a
later call with --cov-append. Code that tests run in a separate process (`python3 -m bench ...`) and the shell tests are
not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

WORST = 5
LEAST = 92
"""The lowest line coverage that passes, in percent."""


def report(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print, from the output of `coverage json`."""
    parts = {name: file["summary"] for name, file in found["files"].items() if file["summary"]["num_statements"]}
    yield "# modules of bench/ and driver/ with the lowest line coverage:"
    for name, part in sorted(parts.items(), key=lambda item: item[1]["percent_covered"])[:WORST]:
        yield f"#   {part['percent_covered']:3.0f}% {name} ({part['covered_lines']} of {part['num_statements']})"
    total = found["totals"]
    covered, statements = total["covered_lines"], total["num_statements"]
    yield f"# line coverage of bench/ and driver/: {covered / statements:.0%} ({covered} of {statements} lines)"


def main(arguments: Sequence[str]) -> int:
    """Run the tests, print their coverage, and end with their status."""
    quiet = arguments[:1] == ["--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        json_file = Path(folder) / "coverage.json"
        # sys.monitoring has almost no overhead; a trace function would double the time.
        env = {**os.environ, "COVERAGE_CORE": "sysmon", "COVERAGE_FILE": "/coverage/data"}
        # BLAS threads spin while they wait, and pytest already has more processes than there are CPUs.
        env["OPENBLAS_NUM_THREADS"] = "1"
        options = ["--cov=bench", "--cov=driver", f"--cov-report={'' if quiet else f'json:{json_file}'}"]
        options += [] if quiet else [f"--cov-fail-under={LEAST}"]
        status = subprocess.run(["pytest", *options, *arguments[quiet:]], env=env, check=False).returncode
        if json_file.exists():
            print(*report(json.loads(json_file.read_text())), sep="\n")
        elif not quiet:
            print("# line coverage of bench/ and driver/: not measured, as pytest did not get to its end")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
