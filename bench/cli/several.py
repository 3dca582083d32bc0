"""Verbs of a run on several machines: `counters`, `counters-reached`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.load.cpu_counters import CpuCounters
from bench.load.far_counters import Answer, await_reader, serve


def counters_verb(argv: Sequence[str]) -> int:
    """`counters FILE`: answer `bench turns` on another machine; FILE has a line `NAME<tab>FOLDER` of each container."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench counters FILE")
    serve(lambda: _answer(_folders(Path(argv[0])))).serve_forever()
    return 0


def counters_reached_verb(argv: Sequence[str]) -> int:
    """`counters-reached ADDRESS...`: wait for each reader (HOST or HOST:PORT) to answer from here."""
    if not argv:
        raise UserError("usage: python3 -m bench counters-reached ADDRESS...")
    for address in argv:
        await_reader(address)
    return 0


def _folders(file: Path) -> Mapping[str, str]:
    lines = (line.split("\t") for line in file.read_text().splitlines()) if file.exists() else ()
    return {line[0]: line[1] for line in lines if len(line) > 1}


def _answer(folders: Mapping[str, str]) -> Answer:
    counters = CpuCounters(folders)

    def answer(names: list[str]) -> tuple[Mapping[str, int], tuple[int, ...]]:
        reading = counters.read(*(name for name in names if name in folders))
        return {name: used for name, used in reading.cpu_ns.items() if name in folders}, reading.host_ticks

    return answer
