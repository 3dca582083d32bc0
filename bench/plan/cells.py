"""The parts of a plan: cells, pairs, null-server cells, and what is skipped with its cause."""

from __future__ import annotations

from dataclasses import dataclass

from bench.matrix.model import Preset, Route, Service
from bench.plan.levels import Level

# Estimates for the expected time, in seconds.
OVERHEAD_S = 2.5
"""Of a measurement, beyond warm-up and load: starting the container, waiting for it, stopping it."""
PAIR_OVERHEAD_S = 3.5
"""The same for a round of a pair."""
COUNT_S = 5.0
"""Of a load with a fixed number of requests."""
SEARCH_S = 60.0
"""Of a search for a knee: about ten trials of 3 to 10 s, half of them repeated."""

NULL = "null"
"""The null server stands as service, server, framework, Python and base of its own measurements."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Service x scenario x tool x level."""

    service: Service
    route: Route
    scenario: str
    path: str
    tool: str
    level: Level


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells that differ only in their service, loaded at the same time; an A/A pair is a control."""

    name: str
    a: Cell
    b: Cell

    @property
    def control(self) -> bool:
        """Whether it is an A/A pair."""
        return self.a.service.name == self.b.service.name


@dataclass(frozen=True, slots=True)
class NullCell:
    """A closed loop of the plan run against the null server: the most that its tool can do on this machine."""

    route: Route
    scenario: str
    path: str
    tool: str
    level: Level


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """What was selected and cannot be run, with the cause; None stands for all scenarios or tools."""

    service: str
    cause: str
    scenario: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run measures. `preset` includes the changes of the command line; `duet_seconds` is a window's length."""

    preset: Preset
    cells: tuple[Cell, ...]
    skips: tuple[SkippedCell, ...]
    loadgen_cpus: int = 1
    pairs: tuple[Pair, ...] = ()
    nulls: tuple[NullCell, ...] = ()
    duet_rounds: int = 0
    duet_seconds: float = 2.0

    @property
    def services(self) -> list[Service]:
        """The services that have cells."""
        return list({cell.service.name: cell.service for cell in self.cells}.values())

    def seconds(self, cell: Cell) -> float:
        """Expected wall time of one measurement, in seconds."""
        load = COUNT_S if cell.level.count else self.preset.duration
        if cell.level.knee_p99_s and not cell.level.knee_share:
            # Only one round searches; the others run the load alone.
            load += SEARCH_S / self.preset.rounds
        return load + self.preset.warmup + OVERHEAD_S

    @property
    def rounds(self) -> int:
        """Rounds in total: enough for the solo windows and for the most that a pair may need."""
        return max(self.solo_rounds, self.duet_rounds)

    @property
    def solo_rounds(self) -> int:
        """Rounds with solo windows."""
        return 0 if self.preset.mode == "duet" else self.preset.rounds

    def total_seconds(self, duet_rounds: int) -> float:
        """Expected wall time in seconds if every pair takes `duet_rounds` rounds to its verdict."""
        pair = 2 * self.duet_seconds + self.preset.warmup + PAIR_OVERHEAD_S
        null = self.preset.duration + self.preset.warmup + OVERHEAD_S
        solo = self.solo_rounds * sum(self.seconds(cell) for cell in self.cells)
        rounds = max(self.solo_rounds, min(duet_rounds, self.duet_rounds))
        compared = sum(not p.control for p in self.pairs) * min(duet_rounds, self.duet_rounds)
        controls = rounds * (pair * sum(p.control for p in self.pairs) + null * len(self.nulls))
        return solo + compared * pair + controls
