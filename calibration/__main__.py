"""`python3 -m calibration KIND RUN...`: the true and the measured value of each figure of a self-test."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.core.errors import UserError
from bench.export.judged_run import judge_run
from bench.run.folder import find_run
from calibration.alone import alone
from calibration.hog import hog
from calibration.latency import latency
from calibration.quick import quick
from calibration.tables import tables
from calibration.truths import truths
from calibration.waits import waits

CHECKS = {
    "latency": (latency, "plan.jsonl"),
    "tables": (tables, "verdicts.jsonl"),
    "alone": (alone, "records.jsonl"),
    "hog": (hog, "records.jsonl"),
    "quick": (quick, "verdicts.jsonl"),
    "waits": (waits, "records.jsonl"),
    "truths": (truths, "verdicts.jsonl"),
}
"""Self-test -> (its function, the file of a run that it needs)."""
PACKED = "raw.tar.xz"
"""The raw files of a published run."""


def judge_verb(argv: Sequence[str]) -> int:
    """`KIND RUN...`: print the table of this self-test; 0 if every promise holds, else 1."""
    if len(argv) < 2 or argv[0] not in CHECKS or (argv[0] == "latency" and len(argv) > 2):
        others = "|".join(name for name in CHECKS if name != "latency")
        raise UserError(f"usage: python3 -m calibration latency RUN, or python3 -m calibration {others} RUN...")
    check, needs = CHECKS[argv[0]]
    with ExitStack() as opened:
        text, holds = check([str(opened.enter_context(whole_run(name, needs))) for name in argv[1:]])
    print(text)
    return 0 if holds else 1


@contextmanager
def whole_run(name: str, needs: str) -> Iterator[Path]:
    """The folder of a run with its raw files and what is made of them; of a published run a copy, by today's rules."""
    packed = Path(name, PACKED)
    if not packed.is_file() or Path(name, "raw").exists():
        yield find_run(name, needs)
        return
    with TemporaryDirectory() as made:
        folder = Path(made, packed.parent.resolve().name)
        with tarfile.open(packed) as files:
            files.extractall(folder, filter="data")
        shutil.copy(packed.with_name("run.json"), folder)
        judge_run(folder)
        yield folder


if __name__ == "__main__":
    try:
        sys.exit(judge_verb(sys.argv[1:]))
    except UserError as error:
        print(f"calibration: {error}", file=sys.stderr)
        sys.exit(2)
