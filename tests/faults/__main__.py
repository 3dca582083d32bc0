"""Verbs of fault runs: `python3 -m tests.faults draw SEED MOMENTS [SUBJECTS] <UNCUT`, `judge RUN`, `table <JUDGED`."""

import json
import sys
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import write_file
from tests.faults.draw import draw, phases_of
from tests.faults.judge import judge, table


def main(argv: list[str]) -> int:
    """Exit status 1 if a run did not survive."""
    verb, *rest = argv
    if verb == "draw":
        subjects = tuple(rest[2].split(",")) if rest[2:] and rest[2] else None
        for moment in draw(int(rest[0]), int(rest[1]), phases_of(sys.stdin.read()), subjects):
            print(moment.line())
        return 0
    if verb == "judge":
        folder = Path("results") / rest[0]
        verdict = judge(folder)
        write_file(folder / "fault.json", json.dumps(verdict.as_json()) + "\n")
        print(verdict.line())
        return 0
    judged = [json.loads(line) for line in sys.stdin.read().splitlines()]
    print(table(judged))
    return 1 if any(one["faults"] for one in judged) else 0


try:
    sys.exit(main(sys.argv[1:]))
except UserError as error:
    print(f"faults: {error}", file=sys.stderr)
    sys.exit(2)
