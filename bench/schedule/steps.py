"""The steps of a plan: which are open, which come first if time is limited, and on which lane they run."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.core.formats import listed
from bench.core.groups import grouped
from bench.plan.interim_looks import table_looks
from bench.plan.measurement import Measurement, step_folder
from bench.tools.levels import LoadKey


@dataclass(frozen=True, slots=True)
class Step:
    """A measurement or a block, with its lines of plan.jsonl."""

    lines: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """Its first line, for what all lines have in common."""
        return self.lines[0]

    @property
    def id(self) -> str:
        """The id of the block or measurement."""
        return self.first.step

    @property
    def held(self) -> bool:
        """Whether it is a block of tables: its loads take turns, at a common rate one long turn each."""
        return self.first.mode in ("turns", "rate")

    @property
    def in_block(self) -> bool:
        """Whether its services are up side by side; else it is a single measurement."""
        return self.first.in_block

    @property
    def tells_rates(self) -> bool:
        """Whether common rates need it: it loads the null server with the open-loop tool."""
        return self.first.mode == "null" and self.first.open_loop

    @property
    def finds_knee(self) -> bool:
        """Whether it searches for a knee; later rounds load at that rate, other levels at a share of it."""
        return self.round == 1 and self.first.knee_p99_s is not None and self.first.knee_share is None

    @property
    def round(self) -> int:
        """The round, from 1."""
        return self.first.round

    @property
    def seconds(self) -> float:
        """Its expected seconds, according to the plan."""
        return self.first.seconds

    @property
    def services(self) -> tuple[str, ...]:
        """The services under load: one, or all of a block."""
        return tuple(dict.fromkeys(line.service for line in self.lines))

    @property
    def containers(self) -> tuple[str, ...]:
        """The names under which its services run."""
        return tuple(dict.fromkeys(line.container for line in self.lines))

    @property
    def label(self) -> str:
        """The step, to show in progress."""
        if self.held:
            tables = dict.fromkeys(str(line.table) for line in self.lines)
            how = "in turns" if self.first.held else "at common rates"
            return f"round {self.round}, {len(self.services)} services {how}: {', '.join(tables)}"
        if len(self.lines) > 1:
            cases, event = len({line.level for line in self.lines}), self.first.event
            what = f"{cases} cases of {event.name}" if event and cases > 1 else str(self.first.level)
            return f"{what} of {listed([*self.services], most=3, shown=2)}"
        return f"{self.first.service} {self.first.load}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its measurements."""
        return tuple(line.id for line in self.lines)

    @property
    def dir(self) -> str:
        """Its folder, relative to the run's, which contains those of its measurements."""
        return step_folder(self.first.dir)

    def tables_in(self, finished: Collection[str]) -> set[LoadKey]:
        """The tables of a block with a finished measurement: if only one service failed, they are not loaded again."""
        return {line.table for line in self.lines if line.id in finished}

    def without(
        self, tables: Collection[LoadKey] = (), services: Collection[str] = (), ids: Collection[str] = ()
    ) -> Step | None:
        """The block without these tables, services and measurements; None if nothing is left."""
        kept = [line for line in self.lines if line.table not in tables and line.service not in services]
        kept = [line for line in kept if line.id not in ids]
        if len(kept) == len(self.lines) or not kept:
            return self if kept else None
        seconds = self.seconds * len(kept) / len(self.lines)
        return Step(tuple(replace(line, seconds=seconds) for line in kept))


def steps_of(planned: Iterable[Measurement]) -> tuple[Step, ...]:
    """The steps of these measurements, in order; those of the same block form one step."""
    return tuple(Step(tuple(group)) for group in grouped(planned, lambda one: one.step).values())


def open_steps(steps: Sequence[Step], finished: Collection[str], settled: Collection[LoadKey] = ()) -> Iterator[Step]:
    """The steps that are still to be measured.

    - `finished`: ids of measurements and steps that need no (second) try.
    - `settled`: tables (scenario, tool, level) that need no more rounds in turns; blocks leave them out.
    """
    for step in steps:
        if step.held:
            done = [line.id for line in step.lines if line.held and line.table in settled]
            if step.id not in finished and (left := step.without(step.tables_in(finished), ids=done)):
                yield left
        elif step.in_block:
            # Each service has its own event: one that failed is tried again without the others.
            if left := step.without(ids=finished):
                yield left
        elif step.id not in finished:
            yield step


def in_time(planned: Sequence[Step], left: Sequence[Step], seconds: float) -> tuple[Step, ...]:
    """The steps of `left` without the tables that reach no look within `seconds`; all steps if no table does."""
    rounds, opened = _rounds(planned), _rounds(left)
    looks = {table: table_looks(len(rounds[table])) for table in opened}
    done = {table: len(rounds[table]) - len(own) for table, own in opened.items()}
    chosen: set[LoadKey] = set()
    # First those that have begun on their way to a look.
    for table in sorted(opened, key=lambda table: (done[table] in (0, *looks[table]), done[table])):
        look = next(look for look in looks[table] if done[table] < look)
        needed_s = sum(opened[table][number] for number in sorted(opened[table])[: look - done[table]])
        if needed_s <= seconds:
            seconds -= needed_s
            chosen.add(table)
    others = opened.keys() - chosen
    if not chosen:
        return tuple(left)
    kept = (step.without(tables=others) if step.held else step for step in left)
    return tuple(step for step in kept if step)


def _rounds(steps: Iterable[Step]) -> dict[LoadKey, dict[int, float]]:
    """Expected seconds of each round of each table; a block's seconds are divided among its tables."""
    rounds: dict[LoadKey, dict[int, float]] = {}
    for step in steps:
        tables = [line.table for line in step.lines if line.held] if step.held else []
        for table in tables:
            own = rounds.setdefault(table, {})
            own[step.round] = own.get(step.round, 0.0) + step.seconds / len(tables)
    return rounds


def group_of(step: Step) -> tuple[str, ...]:
    """What stays on one lane: a block, or the solo windows that differ only in settings, package, tool and level."""
    first = step.first
    alike = (first.server, first.framework, first.python, first.base, first.scenario)
    return alike if first.mode == "solo" else (step.id,)


def dealt(steps: Sequence[Step], lanes: int, seed: str) -> dict[str, int]:
    """The lane of each step of a round, so that all lanes have about the same amount of work."""
    groups = grouped(steps, group_of)
    seconds = {group: sum(step.seconds for step in own) for group, own in groups.items()}
    rng = random.Random(seed)
    drawn = rng.sample(sorted(groups), len(groups))
    load = dict.fromkeys(rng.sample(range(1, lanes + 1), lanes), 0.0)
    lane_of: dict[str, int] = {}
    for group in sorted(drawn, key=lambda group: -seconds[group]):
        lane = min(load, key=lambda lane: load[lane])
        load[lane] += seconds[group]
        lane_of |= {step.id: lane for step in groups[group]}
    return lane_of


def next_wave(queue: Sequence[Step], lane_of: Mapping[str, int], is_out: Callable[[Step], bool]) -> dict[int, Step]:
    """The next step of each lane that has one. No service is in two of them, because it has only one start log.

    Shares of a knee come after all other steps of the first round, which search for the knee. `is_out`: whether a step
    has a service that is not loaded.
    """
    left = [step for step in queue if not is_out(step)]
    waits = any(step.round == 1 and not _needs_knee(step) for step in left)
    wave: dict[int, Step] = {}
    services: set[str] = set()
    for step in left:
        lane = lane_of[step.id]
        later = waits and _needs_knee(step)
        if lane in wave or later or not services.isdisjoint(step.services):
            continue
        wave[lane] = step
        services.update(step.services)
    return dict(sorted(wave.items()))


def _needs_knee(step: Step) -> bool:
    return step.first.knee_share is not None
