"""The steps of a plan: what the loop on the host starts, loads and stops as one, and which of them are still open."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement, or a block: its lines of plan.jsonl."""

    lines: tuple[Mapping[str, Any], ...]

    @property
    def first(self) -> Mapping[str, Any]:
        """The line that speaks for all of them where they agree."""
        return self.lines[0]

    @property
    def id(self) -> str:
        """The measurement or the block."""
        return str(self.first.get("unit", self.first["id"]))

    @property
    def mode(self) -> str:
        """One of solo, null and turns."""
        return str(self.first.get("mode", "solo"))

    @property
    def round(self) -> int:
        """The round, from 1."""
        return int(self.first["round"])

    @property
    def seconds(self) -> float:
        """How long the plan expects it to take."""
        return float(self.first.get("seconds", 0))

    @property
    def services(self) -> tuple[str, ...]:
        """The service under load; all of a block."""
        return tuple(dict.fromkeys(line["service"] for line in self.lines))

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Service, scenario, tool and level of its first measurement."""
        service, scenario, tool, level = (str(self.first[key]) for key in ("service", "scenario", "tool", "level"))
        return service, scenario, tool, level

    @property
    def label(self) -> str:
        """The step in words."""
        if self.mode == "turns":
            tables = dict.fromkeys(f"{line['scenario']} {line['tool']} {line['level']}" for line in self.lines)
            return f"round {self.round}, {len(self.services)} services in turns: {', '.join(tables)}"
        return f"{self.first['service']} {self.first['scenario']} {self.first['tool']} {self.first['level']}"

    @property
    def ids(self) -> tuple[str, ...]:
        """Its measurements."""
        return tuple(line["id"] for line in self.lines)

    @property
    def dir(self) -> str:
        """Its folder in the run's; of a block the one that holds the folders of its measurements."""
        folder = str(self.first["dir"])
        return "/".join(folder.split("/")[:4]) if self.mode == "turns" else folder

    def tables_in(self, finished: Collection[str]) -> set[tuple[str, str, str]]:
        """The tables of a block that were measured in it: one service that failed is no reason to load all again."""
        return {self.table_of(line) for line in self.lines if line["id"] in finished}

    @staticmethod
    def table_of(line: Mapping[str, Any]) -> tuple[str, str, str]:
        """Scenario, tool and level of a line."""
        return line["scenario"], line["tool"], line["level"]

    def without(self, tables: Collection[tuple[str, str, str]] = (), services: Collection[str] = ()) -> Step | None:
        """A block without these tables and services; None where nothing is left."""
        kept = [line for line in self.lines if self.table_of(line) not in tables and line["service"] not in services]
        if len(kept) == len(self.lines) or not kept:
            return self if kept else None
        seconds = self.seconds * len(kept) / len(self.lines)
        return Step(tuple({**line, "seconds": seconds} for line in kept))


def read_steps(plan: str) -> tuple[Step, ...]:
    """The steps of a plan.jsonl, in its order."""
    return steps_of(json.loads(line) for line in plan.splitlines() if line.strip())


def steps_of(lines: Iterable[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps of these lines: the lines of one `unit` belong together."""
    units: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        units.setdefault(line.get("unit", line["id"]), []).append(line)
    return tuple(Step(tuple(group)) for group in units.values())


def open_steps(
    steps: Sequence[Step],
    finished: Collection[str],
    *,
    settled: Collection[tuple[str, str, str]] = (),
    bound: Collection[tuple[str, str, str, str]] = (),
) -> Iterator[Step]:
    """The steps that are still to be measured.

    `finished` holds measurements and steps that need no (second) try, `settled` the tables (scenario, tool, level) that
    need no more rounds, which are left out of their blocks. `bound` are cells (service, scenario, tool, level) that
    their tool cannot load.
    """
    for step in steps:
        if step.mode == "turns":
            if step.id not in finished and (left := step.without({*settled, *step.tables_in(finished)})):
                yield left
        elif step.id not in finished and not (step.mode == "solo" and step.cell in bound):
            yield step
