"""The parts of a plan: cells, tables measured in turns, the null server as a control, and skipped cells with causes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.core.exchange import Exchange
from bench.core.groups import grouped
from bench.matrix.knobs import CPU_QUOTA
from bench.matrix.model import Matrix, Preset, Route, Service
from bench.plan.event import Event
from bench.plan.interim_looks import LOOKS, RATED
from bench.plan.measurement import Pair, SkippedCell
from bench.tools import OPEN_LOOP, TOOLS
from bench.tools.levels import Level, LoadKey, beside, knee_level, rate_level
from driver.messages import cpu_list

# OVERHEAD_S, COUNT_S, PROBE_S, UNTIL_S, SLOWEST_S, SLOWEST_BOOTS, SEARCH_S, EACH_S, BLOCK_OVERHEAD_S and
# RATE_OVERHEAD_S only estimate how long a run takes.
OVERHEAD_S = 2.5
"""Seconds of a measurement besides warm-up and load: starting the container, waiting for it, stopping it."""
COUNT_S = 5.0
"""Seconds of a load with a fixed number of requests."""
PROBE_S, UNTIL_S = 2.5, 8.0
"""Seconds to find the capacity of a service before each overload, and of a window that ends with the event."""
SLOWEST_S, SLOWEST_BOOTS = 16.0, 8.0
"""The same for services side by side, where the slowest decides: seconds, and how many times its app boots."""
SEARCH_S = 40.0
"""Seconds of a search for a knee: about nine trials of 2 to 6 s, including reading their results."""

TURN_S, LONGEST_TURN_S = 0.04, 0.5
"""The average length of turns in seconds, and on a route that waits. The load generator lengthens them for services
that answer slowly."""
EACH_S = 1.2
"""Seconds to start, poll and stop each service of a block under an event, and sometimes to find its capacity."""
PACED = 2
"""Streams with a pace of their own are begun for this many times as long as one of them lasts, or longer."""
FEWEST_TURNS = 2
"""A window has a long turn and a short one of each service, or more."""
QUOTA_TURN_S, QUOTA_CYCLE_S = 1.0, 4.0
"""For services with a CPU quota: seconds of a turn, and the longest cycle in seconds.

The kernel renews a quota every 100 ms, even while the service is idle, so in shorter turns it would hardly matter.
"""
CYCLE_S = 1.44
"""The most seconds in which every service of a block has one turn. gunicorn's sync worker waits 2 s for a client to
close a connection before it serves the next one, and the tool is stopped until its next turn."""
MOST_IN_BLOCK = 8
"""The most services that are up side by side and loaded in turns."""
ROOM = 800.0
"""Total requests/s to services under an event at once, per CPU of servers and load generator (docs/events.md)."""
BLOCK_OVERHEAD_S = 6.0
"""Seconds of a block besides warm-up and load: starting, waiting, stopping."""
RATE_OVERHEAD_S = 0.5
"""Seconds of a load at a common rate besides the load: settling, starting the tool, saving its output."""
RATE_SECONDS = 0.8
"""Seconds of load at a common rate for each service in a round.

A service is frozen while the others are loaded: if that took longer, gunicorn would consider its workers dead."""
CLIENT_RATE = 3000
"""Requests/s of the open-loop tool to the null server, which show what the tool can send.

At a lower rate the tool uses more CPU per request."""
CLIENT_OF_LIMIT = 0.5
"""Knees are searched up to the highest rate at which the null server's p99 is within this share of the limit."""

MORE_CPUS = ("WORKERS", "THREADS")
"""Knobs that let a service use more of its CPUs."""
NULL_ROUTES = ("plaintext", "json")
"""The routes that the null server answers."""
NULL_WORKER = "/worker"
"""A path of it whose responses say which worker sent them."""
NULL = Service.foreign("null", "null")
"""The null server, measured like a service: it shows the most that a tool can do on this machine."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """Service x scenario x tool x level; `alone`: never in turns with others."""

    service: Service
    route: Route
    scenario: str
    exchange: Exchange
    tool: str
    level: Level
    alone: bool = False
    event: Event | None = None

    @property
    def key(self) -> tuple[str, LoadKey]:
        """What identifies the cell within a plan."""
        return self.service.name, LoadKey(self.scenario, self.tool, self.level)

    @property
    def under(self) -> Event:
        """Its event, if it has one."""
        assert self.event
        return self.event


@dataclass(frozen=True, slots=True)
class TurnsTable:
    """Two or more cells that differ only in their service and take turns under load."""

    cells: tuple[PlannedCell, ...]
    capacity: bool = False
    """Whether its services may use different shares of the CPUs; CPU time per request would not show the effect."""
    shares: tuple[Level, ...] = ()
    """Common rates, as shares of the slowest service's speed: after the turns, each service is loaded alone at them."""

    @property
    def first(self) -> PlannedCell:
        """One of its cells, for what all of them have in common."""
        return self.cells[0]

    @property
    def waits(self) -> bool:
        """Whether goodput ranks it: servers wait (for I/O or a quota), may use more CPUs, or already run elsewhere."""
        return self.first.route.waits or self.capacity or self.has_running

    @property
    def has_running(self) -> bool:
        """Whether one of its services is a server that already runs (--target)."""
        return any(cell.service.url for cell in self.cells)

    @property
    def has_quotas(self) -> bool:
        """Whether one of its services has a CPU quota."""
        return any(CPU_QUOTA in cell.service.settings for cell in self.cells)

    @property
    def turn_s(self) -> float:
        """The planned average length of a turn, in s. Longer ones are less biased, shorter ones share more noise."""
        side_by_side = min(len(self.cells), MOST_IN_BLOCK)
        if self.first.level.turn_s:
            return self.first.level.turn_s
        if self.has_quotas:
            return round(min(QUOTA_TURN_S, QUOTA_CYCLE_S / side_by_side), 3)
        return round(min(LONGEST_TURN_S if self.first.route.waits else TURN_S, CYCLE_S / side_by_side), 3)

    @property
    def paced_s(self) -> float:
        """How long each stream lasts, if it has a pace of its own: the services are loaded one by one."""
        return self.first.exchange.paced_s

    def load_s(self, planned: float) -> float:
        """Seconds of load for each service in a window; `planned` is what the plan asks for."""
        if self.paced_s:
            return max(planned, math.ceil(PACED * self.paced_s))
        few = self.has_quotas or self.first.level.turn_s is not None
        return max(planned, FEWEST_TURNS * self.turn_s) if few else planned

    def window_s(self, planned: float, services: int) -> float:
        """Expected wall time of a window with this many services, in seconds."""
        if self.paced_s:
            return services * (self.load_s(planned) + self.paced_s + RATE_OVERHEAD_S)
        return 1.2 * services * self.load_s(planned)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run measures. `preset` includes the changes of the command line."""

    preset: Preset
    cells: tuple[PlannedCell, ...]
    skips: tuple[SkippedCell, ...]
    loadgen_cpus: int = 1
    nulls: tuple[PlannedCell, ...] = ()
    """The plan's closed loops against the null server, and the open-loop tool if there are common rates or knees."""
    tables: tuple[TurnsTable, ...] = ()
    turn_rounds: int = 0
    turn_seconds: float = 1.0
    rate_seconds: float = RATE_SECONDS
    pairs: tuple[Pair, ...] = ()
    """Services that are compared with each other: of two refs, or with two versions of a package."""
    refs: Mapping[str, Any] | None = None
    """run.json's entry about the two refs that are compared."""
    room: float = 0.0
    """Total requests/s that the CPUs allow to services under an event at once; 0: one service at a time."""

    @property
    def alone(self) -> tuple[PlannedCell, ...]:
        """The cells that are measured neither in turns nor under an event."""
        in_turns = {id(cell) for table in self.tables for cell in table.cells}
        return tuple(cell for cell in self.cells if id(cell) not in in_turns and not cell.event)

    @property
    def events(self) -> tuple[PlannedCell, ...]:
        """The cells under an event."""
        return tuple(cell for cell in self.cells if cell.event)

    def events_of(self, number: int) -> tuple[PlannedCell, ...]:
        """The cells under an event in this round."""
        return tuple(cell for cell in self.events if number <= (cell.under.most_rounds or self.event_rounds))

    def event_blocks(self, number: int, rng: random.Random | None = None) -> Iterator[list[PlannedCell]]:
        """Blocks of this round's cells under the same event, of about equal size, within `room`; at random with `rng`.

        A pair that is compared, or one stack with different settings, shares a block, so that it has the same
        neighbours. Blocks of several cases of an event are joined if there is room, so that a run of few services takes
        less time.
        """
        open_blocks: dict[str, list[PlannedCell]] = {}
        for block in _of_cases(self.events_of(number), self.room, self.pairs, rng):
            name = block[0].under.name
            if (before := open_blocks.get(name)) is not None and _fit([*before, *block], self.room):
                # What takes longest begins last: its workers boot when those of the others have.
                open_blocks[name] = sorted([*before, *block], key=lambda cell: cell.under.seconds)
            else:
                if before is not None:
                    yield before
                open_blocks[name] = block
        yield from open_blocks.values()

    @property
    def event_rounds(self) -> int:
        """Rounds of events."""
        return self.preset.rounds if self.events else 0

    def event_seconds(self, block: Sequence[PlannedCell]) -> float:
        """Expected wall time of a block of services under cases of the same event, in seconds."""
        events = [cell.under for cell in block]
        probes = PROBE_S * sum(event.most_rate is None for event in events)
        begin = events[0].apart_s * (len(block) - 1)
        services = len({cell.service.name for cell in block})
        load = max(_usual_s(event, services) for event in events)
        return OVERHEAD_S + len(block) * EACH_S + self.preset.warmup + probes + begin + load

    @property
    def services(self) -> list[Service]:
        """The services that have cells."""
        return list({cell.service.name: cell.service for cell in self.cells}.values())

    def seconds(self, cell: PlannedCell) -> float:
        """Expected wall time of one measurement, in seconds."""
        if cell.event:
            return self.event_seconds([cell])
        load = COUNT_S if cell.level.count else self.preset.duration
        if cell.level.knee_p99_s and not cell.level.knee_share:
            # Only one round searches for the knee; the others load at its rate.
            load += SEARCH_S / self.preset.rounds
        return load + self.preset.warmup + OVERHEAD_S

    @property
    def rounds(self) -> int:
        """Rounds in total: enough for solo windows, events and the longest table."""
        return max(self.solo_rounds, self.turn_rounds, self.event_rounds, max(self.rate_rounds, default=0))

    @property
    def rate_rounds(self) -> range:
        """The rounds with loads at common rates. If there are enough for verdicts, the last may have no turns."""
        if not any(table.shares for table in self.tables):
            return range(0)
        return RATED if self.turn_rounds >= LOOKS[0] else range(RATED.start, self.turn_rounds + 1)

    @property
    def solo_rounds(self) -> int:
        """Rounds with solo windows."""
        return self.preset.rounds if self.alone else 0

    def null_rounds(self, null: PlannedCell) -> int:
        """Rounds that load the null server with this tool: as many as its solo windows have, or one."""
        alone = any(_shows_speed(cell) and cell.tool == null.tool for cell in self.alone)
        return max(1, self.solo_rounds) if alone else 1

    def block_seconds(self, services: int, tables: Sequence[TurnsTable], number: int = 1) -> float:
        """Expected wall time of a block in a round, in seconds; 0 if it has no load in this round."""
        rates = services * sum(len(table.shares) for table in tables) if number in self.rate_rounds else 0
        windows = [table.window_s(self.turn_seconds, services) for table in tables if number <= self.turn_rounds]
        warmed = len(windows) or min(1, rates)
        loads = sum(windows) + rates * (self.rate_seconds + RATE_OVERHEAD_S)
        return BLOCK_OVERHEAD_S + warmed * (self.preset.warmup + 1) + loads if warmed else 0.0

    def round_seconds(self, number: int = 1) -> float:
        """Expected wall time of a round of all tables, in seconds."""
        every = ((len(block), tables) for tables in self.table_groups for block in blocks(tables))
        return sum(self.block_seconds(services, tables, number) for services, tables in every)

    @property
    def table_groups(self) -> list[list[TurnsTable]]:
        """The tables grouped by their services: tables of the same services share containers in a round."""
        return [*grouped(self.tables, lambda table: tuple(sorted(one.service.name for one in table.cells))).values()]

    def total_seconds(self, turn_rounds: int = 0) -> float:
        """Expected wall time in seconds if every table has its verdicts after `turn_rounds` rounds."""
        alone = self.solo_rounds * sum(self.seconds(cell) for cell in self.alone)
        settled = replace(self, turn_rounds=min(turn_rounds, self.turn_rounds))
        in_turns = sum(map(settled.round_seconds, {*range(1, settled.turn_rounds + 1), *settled.rate_rounds}))
        event_blocks = (block for number in range(1, self.event_rounds + 1) for block in self.event_blocks(number))
        events = sum(map(self.event_seconds, event_blocks))
        return alone + events + in_turns + sum(self.null_rounds(null) * self.seconds(null) for null in self.nulls)


def _usual_s(event: Event, services: int) -> float:
    """Expected seconds of an event's load: it often ends before its longest time, with the slowest of the services."""
    if event.usual_s is not None:
        return event.usual_s
    if not event.until:
        return event.seconds
    boot_s = float(event.environment.get("BOOT_S", 0))
    usual_s = UNTIL_S + boot_s if services == 1 else SLOWEST_S + SLOWEST_BOOTS * boot_s
    return min(event.seconds, usual_s)


def blocks(tables: Sequence[TurnsTable], rng: random.Random | None = None) -> list[list[str]]:
    """The services of tables that share them, divided into blocks of about equal size, at random if `rng` is given."""
    names = [cell.service.name for cell in tables[0].cells]
    if rng is not None:
        rng.shuffle(names)
    count = blocks_of(len(names))
    return [names[number::count] for number in range(count)]


def blocks_of(services: int) -> int:
    """The number of blocks of a table in a round; each has one window."""
    return math.ceil(services / MOST_IN_BLOCK)


def _fit(block: Iterable[PlannedCell], room: float) -> bool:
    """Whether cells of several cases may share a block: their CPUs suffice, and no dependency is acted on."""
    events = [cell.under for cell in block]
    return sum(1 / event.beside(room) for event in events) <= 1 and not any(
        action.on_dependency for event in events for action in event.actions
    )


def _of_cases(
    cells: Sequence[PlannedCell], room: float, pairs: Iterable[Pair], rng: random.Random | None
) -> Iterator[list[PlannedCell]]:
    """Blocks of cells under the same case of an event."""
    together = _together(pairs)
    for case_cells in grouped(cells, lambda cell: cell.level).values():
        most_here = case_cells[0].under.beside(room)
        groups = grouped(case_cells, lambda cell: together.get(cell.service.name, cell.service.stack))
        parts = [group[at : at + most_here] for group in groups.values() for at in range(0, len(group), most_here)]
        if rng is not None:
            rng.shuffle(parts)
        case_blocks: list[list[PlannedCell]] = [[] for _ in range(math.ceil(len(case_cells) / most_here))]
        for part in sorted(parts, key=len, reverse=True):
            least = min(case_blocks, key=len)
            if len(least) + len(part) > most_here:
                case_blocks.append(least := [])
            least += part
        for block in filter(None, case_blocks):
            if rng is not None:
                rng.shuffle(block)
            yield block


def _together(pairs: Iterable[Pair]) -> dict[str, str]:
    """For each service of a pair, the first service of its group: those compared with each other, even indirectly."""
    firsts: dict[str, str] = {}
    for base, head in pairs:
        first, other = firsts.setdefault(base, base), firsts.setdefault(head, head)
        firsts = {name: first if own == other else own for name, own in firsts.items()}
    return firsts


def _shows_speed(cell: PlannedCell) -> bool:
    # Loads with a fixed number of requests end at different times, and goodput at a fixed rate is not speed.
    return not (cell.level.count or cell.level.open_loop or cell.level.rate)


def _in_tables(cell: PlannedCell) -> bool:
    # Streams with a pace of their own cost something at any rate.
    return not cell.alone and (_shows_speed(cell) or cell.exchange.paced_s > 0)


def turn_tables(
    preset: Preset,
    cells: Iterable[PlannedCell],
    settings: Mapping[str, str],
    shares: Mapping[str, Sequence[Level]],
) -> Iterator[TurnsTable]:
    """The tables that are measured in turns, or one by one: two or more services under the same load.

    `shares` has the common rates of each scenario; of its tables, the first gets them.
    """
    if preset.mode != "turns":
        return
    compared = filter(_in_tables, cells)
    tables = grouped(compared, lambda cell: (cell.scenario, cell.tool, cell.level))
    several_cpus = len(cpu_list(settings.get("SERVER_CPUS") or "0")) > 1
    left = dict(shares)
    for group in tables.values():
        if len(group) > 1:
            own = tuple(beside(rate, group[0].level) for rate in left.pop(group[0].scenario, ()))
            yield TurnsTable(tuple(group), capacity=_varies_capacity(group, several_cpus), shares=own)


def _varies_capacity(cells: Iterable[PlannedCell], several_cpus: bool) -> bool:
    """Whether the services may use different shares of the CPUs."""
    knobs = (CPU_QUOTA, *(MORE_CPUS if several_cpus else ()))
    every = [cell.service.settings for cell in cells]
    return any(len({settings.get(knob) for settings in every}) > 1 for knob in knobs)


def null_cells(
    matrix: Matrix, cells: Sequence[PlannedCell], tables: Sequence[TurnsTable] = ()
) -> tuple[PlannedCell, ...]:
    """One cell for each closed-loop tool, with its most connections, if possible on a planned route.

    If there are common rates or knees, also one for the open-loop tool, which shows what it can send. A tool that both
    keeps and closes its connections has a cell for each: opening them costs it more than a request does.
    """
    nulls: dict[tuple[str, bool], PlannedCell] = {}
    for cell in sorted(
        filter(_shows_speed, cells), key=lambda c: (c.level.connections or 0, c.route.name in NULL_ROUTES), reverse=True
    ):
        route = cell.route if cell.route.name in NULL_ROUTES else matrix.route_of(NULL_ROUTES[0])[0]
        if TOOLS[cell.tool].unspoken(route.exchange):
            continue
        null = PlannedCell(NULL, route, route.scenario, route.exchange, cell.tool, cell.level)
        nulls.setdefault((cell.tool, cell.level.closes), null)
    limits_s = [cell.level.knee_p99_s for cell in cells if cell.level.knee_p99_s]
    rates = {rate.closes: rate_level(CLIENT_RATE, closes=rate.closes) for table in tables for rate in table.shares}
    if limits_s:
        rates[False] = knee_level(max(1, round(1000 * CLIENT_OF_LIMIT * min(limits_s))) / 1000)
    for closes, level in rates.items():
        route = matrix.route_of(NULL_ROUTES[0])[0]
        nulls[OPEN_LOOP, closes] = PlannedCell(NULL, route, route.scenario, route.exchange, OPEN_LOOP, level)
    return tuple(nulls[tool, closes] for tool in TOOLS for closes in (False, True) if (tool, closes) in nulls)
