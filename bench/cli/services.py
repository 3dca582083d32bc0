"""Verbs on services for the loop on the host: `service-failed`, `retry`, `nothing-measured`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.files import write_file
from bench.drive.service_failures import CAUSES, KILLED, none_measured, out_of_memory
from bench.drive.try_again import try_again
from bench.run.folder import find_run
from bench.validity.measurement_rules import OUT_OF_MEMORY


def service_failed_verb(argv: Sequence[str]) -> int:
    """`service-failed RUN NAME CAUSE [DETAIL]`: record why a service is not loaded; print it in one line.

    CAUSE is one of base (DETAIL: the image), build (DETAIL: its log), start, answer (DETAIL: seconds), verification.
    """
    parser = Parser("service-failed")
    parser.add_argument("run")
    parser.add_argument("name")
    parser.add_argument("cause", choices=CAUSES)
    parser.add_argument("detail", nargs="?", default="")
    options = parser.parse_args(argv)
    folder = _folder(options.run, options.name)
    path = folder / "failure.json"
    if options.cause != "verification" or not path.exists():
        outcome, detail = CAUSES[options.cause](folder, options.detail)
        write_file(path, json.dumps({"outcome": outcome, "detail": detail}, ensure_ascii=False) + "\n")
    failure = json.loads(path.read_text())
    if out_of_memory(folder) and failure["outcome"] != OUT_OF_MEMORY:
        failure |= {"outcome": OUT_OF_MEMORY, "detail": f"{KILLED}; {failure['outcome']}: {failure['detail']}"}
        write_file(path, json.dumps(failure, ensure_ascii=False) + "\n")
    print(f"{options.name}: {failure['outcome']}: {failure['detail']}")
    return 0


def retry_verb(argv: Sequence[str]) -> int:
    """`retry RUN`: have services verified again whose failure is not final; print which, in one line, if any."""
    print(try_again(find_run(_only(argv, "retry"))))
    return 0


def nothing_measured_verb(argv: Sequence[str]) -> int:
    """`nothing-measured RUN`: print one line if every service of the run has failed; nothing else."""
    print(none_measured(find_run(_only(argv, "nothing-measured"))))
    return 0


def _only(argv: Sequence[str], verb: str) -> str:
    if len(argv) != 1:
        raise UserError(f"usage: python3 -m bench {verb} RUN")
    return argv[0]


def _folder(run: str, name: str) -> Path:
    folder = find_run(run) / "raw/services" / name
    if not name or "/" in name or name.startswith("."):
        raise UserError(f"'{name}' is not the name of a service")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
