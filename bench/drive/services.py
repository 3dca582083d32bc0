"""What the loop on the host has Python record of a service: why it is not loaded, and how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.cli import Parser, find_run
from bench.drive.finished import last_words
from bench.errors import UserError
from bench.files import write_file

LONGEST = 300
"""Characters of a detail that comes from a log."""


def run_failed(argv: Sequence[str]) -> int:
    """`service-failed RUN NAME CAUSE [DETAIL]`: record why a service is not loaded; print it in one line.

    CAUSE is one of base (DETAIL: the image), build (DETAIL: its log), start, answer (DETAIL: seconds), verification.
    """
    parser = Parser(prog="service-failed", allow_abbrev=False, add_help=False)
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
    print(f"{options.name}: {failure['outcome']}: {failure['detail']}")
    return 0


def run_stopped(argv: Sequence[str]) -> int:
    """`service-stopped RUN NAME STATUS TRIES BEGIN_NS END_NS`: record how a service ended when it was told to."""
    if len(argv) != 6 or not all(word.isdecimal() for word in argv[2:]):
        raise UserError("usage: python3 -m bench service-stopped RUN NAME STATUS TRIES BEGIN_NS END_NS")
    values = dict(zip(("exit_status", "tries", "begin_ns", "end_ns"), map(int, argv[2:]), strict=True))
    write_file(_folder(argv[0], argv[1]) / "stop.json", json.dumps(values) + "\n")
    return 0


def _folder(run: str, name: str) -> Path:
    folder = find_run(run) / "raw/services" / name
    if not name or "/" in name or name.startswith("."):
        raise UserError(f"'{name}' is not the name of a service")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _no_base(_folder: Path, image: str) -> tuple[str, str]:
    return "base image not reachable", f"{image} cannot be pulled or made here"


def _not_built(folder: Path, _detail: str) -> tuple[str, str]:
    return "build failed", build_error((folder / "build.log").read_text(errors="replace"))[:LONGEST]


def _not_started(folder: Path, _detail: str) -> tuple[str, str]:
    return "did not start", last_words(folder / "start.log")


def _no_answer(folder: Path, seconds: str) -> tuple[str, str]:
    return "did not start", f"no answer in {seconds} s; its last words: {last_words(folder / 'server.log')}"


def _not_verified(folder: Path, _detail: str) -> tuple[str, str]:
    """The verifier itself writes failure.json where a check failed: here it came to no end."""
    return "failed verification", last_words(folder / "verify.txt")


CAUSES: Mapping[str, Callable[[Path, str], tuple[str, str]]] = {
    "base": _no_base,
    "build": _not_built,
    "start": _not_started,
    "answer": _no_answer,
    "verification": _not_verified,
}


def build_error(log: str) -> str:
    """The last words of the step that failed, which BuildKit repeats at the end behind their time; else its own."""
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    errors = [line for line in log.splitlines() if "error" in line.lower() and not line.startswith("--")]
    found = repeated or errors
    return "".join(mark if mark.isprintable() else " " for mark in found[-1]) if found else ""
