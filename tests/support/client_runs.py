"""Synthetic raw files of measurements by several load generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from make_run import output_of, write_measurement

from bench.cli.report import build_verb
from bench.plan.measurement import planned_of, shares
from bench.records.record import Record, load


def write_clients(
    folder: Path,
    line: Mapping[str, Any],
    rates: Sequence[float],
    *,
    tools: Mapping[int, Mapping[str, Any]] | None = None,
    clocks: Sequence[str] = (),
    after: Mapping[str, int | str] | None = None,
) -> None:
    """Writes each one's files for its rate; `tools`: changes of tool.json by number; `clocks`: lines of clients.tsv."""
    for number, (share, rate) in enumerate(zip(shares(planned_of(line)), rates, strict=True), 1):
        own = dict(line) | {"dir": share.dir, "connections": share.connections, "rate": share.rate}
        own["threads"] = share.threads
        told = (tools or {}).get(number)
        write_measurement(folder, own, output_of(own, rate), tool=told, after=after, whole=line["dir"])
    (folder / line["dir"] / "clients.tsv").write_text("".join(f"{one}\n" for one in clocks or ["-\t0\t0"] * len(rates)))
    if line["tool"] == "vegeta":
        whole = output_of(line, sum(rates))
        (folder / line["dir"] / "output.json").write_text(whole)


def one_record(folder: Path) -> Record:
    """The record of a run with a single measurement."""
    assert build_verb([str(folder)]) == 0
    (record,) = load((folder / "records.jsonl").read_text().splitlines())
    return record
