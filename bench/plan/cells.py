"""The parts of a plan: cells, pairs, the null server, and what is skipped with its cause."""

from __future__ import annotations

from dataclasses import dataclass

from bench.matrix.model import Preset, Route, Service
from bench.plan.levels import Level

# Beside its load and warm-up, a measurement costs about this much (fresh container, first answer, down).
OVERHEAD_S = 2.5
# The same for a round of a pair.
PAIR_OVERHEAD_S = 3.5
NULL = "null"
# What a load by count is taken to last, for the estimate only.
COUNT_S = 5.0
# The same of the search for a knee: some ten trials of 3 to 10 s, half of which are made twice.
SEARCH_S = 60.0


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
    """Two cells that differ in their service alone, loaded together; a control is a service beside itself."""

    name: str
    a: Cell
    b: Cell

    @property
    def control(self) -> bool:
        """Whether it is an A/A pair."""
        return self.a.service.name == self.b.service.name


@dataclass(frozen=True, slots=True)
class NullCell:
    """A closed loop of the plan, to be asked of the null server: what its tool can do here."""

    route: Route
    scenario: str
    path: str
    tool: str
    level: Level


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """What was asked for and cannot be run, with its cause."""

    service: str
    cause: str
    scenario: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Cells to run, what is skipped, and the preset with the command line's changes in it."""

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
            # Searched in one round of them; in all others it is the load alone.
            load += SEARCH_S / self.preset.rounds
        return load + self.preset.warmup + OVERHEAD_S

    @property
    def rounds(self) -> int:
        """All rounds: those of the solo windows and those that a pair may need for its verdict."""
        return max(self.solo_rounds, self.duet_rounds)

    @property
    def solo_rounds(self) -> int:
        """Rounds with solo windows."""
        return 0 if self.preset.mode == "duet" else self.preset.rounds

    def total_seconds(self, duet_rounds: int) -> float:
        """Expected wall time in seconds, where every pair is measured in so many rounds."""
        pair = 2 * self.duet_seconds + self.preset.warmup + PAIR_OVERHEAD_S
        null = self.preset.duration + self.preset.warmup + OVERHEAD_S
        solo = self.solo_rounds * sum(self.seconds(cell) for cell in self.cells)
        rounds = max(self.solo_rounds, min(duet_rounds, self.duet_rounds))
        compared = sum(not p.control for p in self.pairs) * min(duet_rounds, self.duet_rounds)
        controls = rounds * (pair * sum(p.control for p in self.pairs) + null * len(self.nulls))
        return solo + compared * pair + controls
