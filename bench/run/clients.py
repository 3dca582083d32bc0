"""The raw files of several load generators that loaded one service at the same time.

Each has its own subfolder in the measurement's folder, with its tool's output. `clients.tsv` has one line for each:
`NODE<tab>AHEAD_NS<tab>WITHIN_NS`, i.e. its machine (`-`: the one that runs the scripts), the offset of its clock from
that of the scripts, and the uncertainty of the offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.files import as_object, read_bytes
from bench.plan.measurement import Measurement, client_folder, shares
from bench.tools.tool import OUTPUT, Tool

FILE = "clients.tsv"
HERE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The files of one load generator; None for files that are missing or malformed (the latter are in `faults`).

    `ahead_ns` is None if its clock offset was not saved. `planned` is its share of the measurement.
    """

    planned: Measurement
    tool: Mapping[str, Any] | None
    output: bytes | None
    output_file: str
    lag: Mapping[str, Any] | None
    node: str
    ahead_ns: int | None
    within_ns: int
    faults: tuple[str, ...] = ()


def file_names(clients: int, tool: Tool) -> Iterator[str]:
    """The raw files of this many load generators, relative to the measurement's folder."""
    if clients:
        yield FILE
    for number in range(1, clients + 1):
        names = dict.fromkeys(("tool.json", OUTPUT, tool.output, *tool.more_files))
        yield from (f"{client_folder(number)}/{name}" for name in names)


def read_clients(run: str, planned: Measurement, output_name: str) -> tuple[Client, ...]:
    """The files of each load generator; empty if there was only one."""
    if planned.loadgens == 1:
        return ()
    clocks = [
        _clock(line)
        for line in (read_bytes(f"{run}/{planned.dir}/{FILE}") or b"").decode(errors="replace").splitlines()
    ]
    clocks += [None] * (planned.loadgens - len(clocks))
    return tuple(_client(run, share, output_name, clock) for share, clock in zip(shares(planned), clocks, strict=False))


def _client(run: str, share: Measurement, output_name: str, clock: tuple[str, int, int] | None) -> Client:
    folder = f"{run}/{share.dir}"
    found = {name: read_bytes(f"{folder}/{name}") for name in (output_name, "tool.json", "lag.json")}
    tool, lag = (as_object(found[name] or b"") for name in ("tool.json", "lag.json"))
    malformed = [name for name, value in (("tool.json", tool), ("lag.json", lag)) if found[name] and value is None]
    faults = [f"{name} is not a JSON object" for name in malformed]
    if clock is None:
        faults.append(f"{FILE} does not say what its clock was")
    node, ahead_ns, within_ns = clock or (HERE, None, 0)
    return Client(
        planned=share,
        tool=tool,
        output=found[output_name],
        output_file=f"{share.dir}/{output_name}",
        lag=lag,
        node=node,
        ahead_ns=ahead_ns,
        within_ns=within_ns,
        faults=tuple(faults),
    )


def _clock(line: str) -> tuple[str, int, int] | None:
    node, *numbers = line.split("\t")
    if len(numbers) != 2 or not all(_is_whole(number) for number in numbers):
        return None
    return node, int(numbers[0]), abs(int(numbers[1]))


def _is_whole(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20
