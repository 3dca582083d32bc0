"""`python3 -m calibration KIND RUN...`: the true and the measured value of each figure of a self-test."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.core.errors import UserError
from bench.export.judged_run import judge_run
from bench.run.folder import find_run
from bench.run.reader import read_run, read_service
from bench.validity.run_records import reviewed, service_names
from calibration.alone import alone
from calibration.hog import hog
from calibration.latency import LATENCY, latencies_s, result_of
from calibration.quick import quick
from calibration.tables import tables
from calibration.truths import truths
from calibration.waits import waits

CHECKS = {
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
HEADS = (
    "| scenario | figure | truth | measured | error | allowed | verdict | requests |",
    "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
)


def judge_verb(argv: Sequence[str]) -> int:
    """`latency RUN`, or one of CHECKS and `RUN...`: print the table; 0 if every promise holds, else 1."""
    if len(argv) < 2 or argv[0] not in ("latency", *CHECKS) or (argv[0] == "latency" and len(argv) > 2):
        raise UserError(
            f"usage: python3 -m calibration latency RUN, or python3 -m calibration {'|'.join(CHECKS)} RUN..."
        )
    if argv[0] in CHECKS:
        check, needs = CHECKS[argv[0]]
        with ExitStack() as opened:
            text, holds = check([str(opened.enter_context(whole_run(name, needs))) for name in argv[1:]])
        print(text)
        return 0 if holds else 1
    with whole_run(argv[1], "plan.jsonl") as run:
        return _judge_latency(str(run))


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


def _judge_latency(folder: str) -> int:
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    records = reviewed(source, services)
    found = [result_of(promise, records, lambda record: latencies_s(folder, record)) for promise in LATENCY]
    print(*HEADS, *(one.row() for one in found), sep="\n")
    return 0 if all(one.holds for one in found) else 1
