"""Synthetic runs of one table in turns; the given rates determine the verdicts.

`python3 tests/support/compared_runs.py FOLDER BASE_RATE [HEAD_RATE [ROUNDS [SPREAD]]]` writes a run and builds its
report; without HEAD_RATE, the head's image did not build.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from loop_runs import block, finish_block, tables_of
from make_run import entry, mark_measured, write_run

from bench.cli.report import build_verb
from bench.schedule.finished import FILE

BASE, HEAD = "aiohttp", "tornado"


def in_turns(
    folder: Path, rates: Mapping[str, float], rounds: int = 4, stacks: tuple[str, ...] = (), spread: float = 0.002
) -> Path:
    """Writes raw files of services with these successes per second, all with the same CPU time.

    Each round they are further apart by `spread`. Those of `stacks` without a rate have no figure.
    """
    stacks = stacks or tuple(rates)
    lines = [line for number in range(1, rounds + 1) for line in block(number, stacks)]
    write_run(folder, lines, tables_in_turns=tables_of(lines))
    for number in range(1, rounds + 1):
        own = [line for line in lines if line["round"] == number]
        apart = 1 + spread * number
        named = {str(entry(stack)["service"]): rate * apart**place for place, (stack, rate) in enumerate(rates.items())}
        finish_block(folder, own, named)
        for line in own:
            if line["service"] in named:
                mark_measured(folder, line)
    (folder / FILE).unlink()
    return folder


def build_failed(folder: Path, stack: str, detail: str = "no wheel") -> None:
    failure = {"outcome": "build failed", "detail": detail}
    (folder / "raw/services" / entry(stack)["service"] / "failure.json").write_text(json.dumps(failure))


def main(argv: list[str]) -> None:
    """Write and build a run."""
    folder, base, head, rounds, spread = (*argv, *("", "4", "0.002")[len(argv) - 2 :])
    rates = {BASE: float(base)} | ({HEAD: float(head)} if head else {})
    in_turns(Path(folder), rates, int(rounds), (BASE, HEAD), float(spread))
    if not head:
        build_failed(Path(folder), HEAD)
    build_verb([folder])


if __name__ == "__main__":
    main(sys.argv[1:])
