"""Verbs in the load generator's container: CPU counters of other machines, and a tool's parsed output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO, TextIO

from bench.core.arguments import words_of
from bench.core.errors import UserError, unknown
from bench.core.files import as_object, mapping, read_bytes
from bench.load.cpu_counters import CpuCounters
from bench.load.far_counters import Answer, await_reader, serve
from bench.tools import TOOLS, parse


def counters_verb(argv: Sequence[str]) -> None:
    """`counters FILE`: serve CPU counters to remote load generators; FILE is the run's containers.json."""
    (file,) = words_of(argv, "counters FILE")
    serve(lambda: _answer(file)).serve_forever()


def counters_reached_verb(argv: Sequence[str]) -> None:
    """`counters-reached ADDRESS...`: wait until each reader (HOST or HOST:PORT) can be reached from here."""
    if not argv:
        raise UserError("usage: python3 -m bench counters-reached ADDRESS...")
    for address in argv:
        await_reader(address)


def _answer(file: str) -> Answer:
    folders = {name: folder for name, (folder, *_) in mapping(as_object(read_bytes(file) or b"")).items()}
    counters = CpuCounters(folders)

    def answer(names: list[str]) -> tuple[Mapping[str, int], tuple[int, ...]]:
        reading = counters.read(*(name for name in names if name in folders))
        return {name: used for name, used in reading.cpu_ns.items() if name in folders}, reading.host_ticks

    return answer


PARSED = {"complete": 0, "absent": 1, "partial": 3}
"""The exit status of `parse`, by how much of a report there was."""


def parse_verb(argv: Sequence[str], stdin: BinaryIO | None = None, stdout: TextIO | None = None) -> int:
    """`parse TOOL < FILE`: print the parsed output as one JSON object; see PARSED. UserError for an unknown tool."""
    if len(argv) != 1:
        raise UserError("parse takes a tool and its output, such as: scripts/parse.sh wrk < FILE")
    if argv[0] not in TOOLS:
        raise unknown("tool", argv[0], TOOLS)
    parsed = parse(argv[0], (stdin or sys.stdin.buffer).read())
    print(json.dumps(parsed.as_dict(), allow_nan=False), file=stdout)
    return PARSED[parsed.report]
