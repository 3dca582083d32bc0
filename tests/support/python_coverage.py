"""Runs pytest and prints the line coverage of bench/ and driver/, and the worst modules: python_coverage.py ARGUMENT...

`--quiet` as the first: the coverage is only kept, in /coverage, for a later one with --cov-append. What tests run as a
process of its own (`python3 -m bench ...`), and the shell tests, are not counted.
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


def report(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print, of what `coverage json` wrote."""
    parts = {name: file["summary"] for name, file in found["files"].items() if file["summary"]["num_statements"]}
    yield "# modules of bench/ and driver/ with the lowest line coverage:"
    for name, part in sorted(parts.items(), key=lambda item: item[1]["percent_covered"])[:WORST]:
        yield f"#   {part['percent_covered']:3.0f}% {name} ({part['covered_lines']} of {part['num_statements']})"
    total = found["totals"]
    covered, statements = total["covered_lines"], total["num_statements"]
    yield f"# line coverage of bench/ and driver/: {covered / statements:.0%} ({covered} of {statements} lines)"


def main(arguments: Sequence[str]) -> int:
    """Run the tests, print what they executed, and end with their status."""
    quiet = arguments[:1] == ["--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        json_file = Path(folder) / "coverage.json"
        # sys.monitoring costs next to nothing; a trace function would double the time.
        env = {**os.environ, "COVERAGE_CORE": "sysmon", "COVERAGE_FILE": "/coverage/data"}
        # Threads of BLAS wait for each other busily, and the processes of pytest are more than the CPUs already.
        env["OPENBLAS_NUM_THREADS"] = "1"
        options = ["--cov=bench", "--cov=driver", f"--cov-report={'' if quiet else f'json:{json_file}'}"]
        status = subprocess.run(["pytest", *options, *arguments[quiet:]], env=env, check=False).returncode
        if json_file.exists():
            print(*report(json.loads(json_file.read_text())), sep="\n")
        elif not quiet:
            print("# line coverage of bench/ and driver/: not measured, as pytest did not get to its end")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
