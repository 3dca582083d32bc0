"""`python3 -m calibration KIND RUN...`: the true and the measured value of each figure of a self-test."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.core.errors import UserError
from bench.core.gone import gone
from bench.export.judged_run import find_judged
from calibration.events import events
from calibration.latency import latency
from calibration.tables import tables
from calibration.truths import truths
from calibration.turns import turns
from calibration.widths import widths

CHECKS = {
    "latency": (latency, "plan.jsonl"),
    "tables": (tables, "verdicts.jsonl"),
    "events": (events, "events.jsonl"),
    "truths": (truths, "verdicts.jsonl"),
    "turns": (turns, "verdicts.jsonl"),
    "widths": (widths, "verdicts.jsonl"),
}
"""Self-test -> (its function, the file that a run must have for it)."""


def judge_verb(argv: Sequence[str]) -> int:
    """`KIND RUN...`: print the table of this self-test; 0 if every promise holds, otherwise 1."""
    if argv and (instead := gone().get(f"selftest.sh judge {argv[0]}")):
        raise UserError(instead)
    if len(argv) < 2 or argv[0] not in CHECKS or (argv[0] == "latency" and len(argv) > 2):
        others = "|".join(name for name in CHECKS if name != "latency")
        raise UserError(f"usage: python3 -m calibration latency RUN, or python3 -m calibration {others} RUN...")
    check, needs = CHECKS[argv[0]]
    text, holds = check([str(find_judged(name, needs)) for name in argv[1:]])
    print(text)
    return 0 if holds else 1


if __name__ == "__main__":
    try:
        sys.exit(judge_verb(sys.argv[1:]))
    except UserError as error:
        print(f"calibration: {error}", file=sys.stderr)
        sys.exit(2)
