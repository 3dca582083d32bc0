"""`python3 -m calibration KIND RUN...`: the true and the measured value of each figure of a self-test."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.errors import UserError
from bench.run.folder import find_run
from bench.run.reader import read_run, read_service
from bench.validity.run_records import reviewed, service_names
from calibration.alone import alone
from calibration.hog import hog
from calibration.latency import LATENCY, latencies_s, result_of
from calibration.lengths import lengths
from calibration.parts import parts
from calibration.quick import quick
from calibration.tables import tables
from calibration.truths import truths

CHECKS = {
    "tables": (tables, "verdicts.jsonl"),
    "lengths": (lengths, "records.jsonl"),
    "parts": (parts, "records.jsonl"),
    "alone": (alone, "records.jsonl"),
    "hog": (hog, "records.jsonl"),
    "quick": (quick, "verdicts.jsonl"),
    "truths": (truths, "verdicts.jsonl"),
}
"""Self-test -> (its function, the file of a run that it needs)."""
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
        text, holds = check([str(find_run(name, needs)) for name in argv[1:]])
        print(text)
        return 0 if holds else 1
    folder = str(find_run(argv[1]))
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    records = reviewed(source, services)
    found = [result_of(promise, records, lambda record: latencies_s(folder, record)) for promise in LATENCY]
    print(*HEADS, *(one.row() for one in found), sep="\n")
    return 0 if all(one.holds for one in found) else 1
