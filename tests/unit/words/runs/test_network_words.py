"""The report of a run on a swarm says what its network costs, or that nobody has measured that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.run.reader import Run
from bench.words.setup import FILE, network_cost

SAID = "2026-11-23, from two to one\nhost: 51,545 requests/s\noverlay: 0.97 of the host's (0.95 to 0.99)\n"


def words(folder: Path, node: str | None = "one", **facts: Any) -> list[tuple[str, str]]:
    records: Any = [SimpleNamespace(node=None), SimpleNamespace(node=node)]
    return list(network_cost(Run(path=str(folder), facts=facts, settings_sha256="", planned=(), faults=()), records))


def test_what_was_measured_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(SAID)
    assert words(tmp_path) == [("cost of the network", "; ".join(SAID.splitlines()))]


def test_without_a_measurement_none_is_made_up(tmp_path: Path) -> None:
    ((name, told),) = words(tmp_path)
    assert name == "cost of the network" and told.startswith("not measured") and "harness-cost.sh --network" in told


def test_a_run_on_one_machine_or_by_contexts_has_no_overlay(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(SAID)
    assert words(tmp_path, node=None) == [] == words(tmp_path, machines={"server": "one"})


def test_a_long_file_does_not_fill_the_report(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("x" * 1000 + "\n" + "a line\n" * 100)
    assert len(words(tmp_path)[0][1]) < 400
