"""The entries of tool.json about a service that was loaded in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Any

from msgspec import Meta

from bench.core.files import items, mapping
from bench.core.typed import read_as
from bench.tools.parsed import Latency, Parsed

ALL_TASKS = "host"
"""Key in `Turns.cpu_s`, beside the containers: CPU time of all tasks of the host, including the containers."""
SERVER_CPUS, OURS_THERE = "server CPUs", "ours on server CPUs"
"""The same on the CPUs of the services: for all tasks, and for the containers of the run."""
RAN, WAITED = "the service's threads ran", "the service's threads waited for a CPU"
"""Keys for the service's threads that existed both before and after a turn: the time they ran, which is also part of
the container's CPU time, and the time they waited for a CPU."""
TICKS_PER_S = 100
"""Clock ticks of /proc/stat (USER_HZ)."""
NOT_CONTAINERS = frozenset({ALL_TASKS, SERVER_CPUS, OURS_THERE, RAN, WAITED})
MAX_LATE = 0.1
"""The largest accepted share of turns whose responses came late, during the turns of other services."""
LEAST_RAN = 0.9
"""`WAITED` counts as the service's wait only if these threads used at least this share of its CPU time."""
LEAST_LONGER = 0.5
"""Long turns have to take this share of the difference in load longer than short ones, or noise decides their rest."""
NO_LATENCY = "measured in turns: the tool was stopped between turns, so its latencies are not the service's"


Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: when it began (monotonic clock), how long it loaded and then waited for responses, in ns.

    - `long`: whether it is one of the window's long turns or one of the short ones; None if it lasted until the tool's
      exit.
    - `octets`: bytes of data that the load generator received in it; `cpu_ns`: CPU time by container. All are read
      while the service has nothing to do, so nothing is divided between two turns.
    """

    began_ns: Count
    load_ns: Count
    drain_ns: Count
    octets: Count
    cpu_ns: Mapping[str, Count]
    long: bool | None = None


@dataclass(frozen=True, slots=True)
class Turns:
    """Sums over the service's own turns: seconds, CPU seconds by container, ticks of /proc/stat.

    - `steady`: the steady part of the window (see `steady_part`); `share`: how much of the window's responses it has.
    - `missing`: why a container's CPU time is unknown.
    - `end`: how the tool was ended (see `bench.load.turns`); None in earlier runs, which did not save it, and whose
      tools also counted responses after their turns.
    - `late`: number of turns after which responses came that the turn had not waited for.
    """

    count: int
    seconds: float
    cpu_s: Mapping[str, float]
    host_ticks: tuple[int, ...]
    missing: Mapping[str, str]
    end: str | None = None
    late: int = 0
    share: float = 1.0
    steady: Turns | None = None

    def waited_s(self, cpu_s: float) -> float | None:
        """Seconds that the service's threads were runnable but waited for a CPU; `cpu_s` is the service's CPU time.

        None if this was not read, or if too much of the CPU time belongs to short-lived threads (see `LEAST_RAN`).
        """
        ran_s, waited_s = (self.cpu_s.get(name) for name in (RAN, WAITED))
        return None if ran_s is None or ran_s < LEAST_RAN * cpu_s else waited_s

    @property
    def others_s(self) -> float | None:
        """CPU seconds of other programs on the CPUs of the services if known, else on all CPUs; None if unknown."""
        if SERVER_CPUS in self.cpu_s and OURS_THERE in self.cpu_s:
            return max(0.0, self.cpu_s[SERVER_CPUS] - self.cpu_s[OURS_THERE])
        containers_s = sum(used for name, used in self.cpu_s.items() if name not in NOT_CONTAINERS)
        return max(0.0, self.cpu_s[ALL_TASKS] - containers_s) if ALL_TASKS in self.cpu_s else None

    def cpu(self, container: str, unmeasured: str | None) -> tuple[float | None, str]:
        """(a container's CPU time, the reason if None)."""
        reason = unmeasured or self.missing.get(container, f"the CPU time of {container} in the turns was not saved")
        return self.cpu_s.get(container), str(reason)


def read_turns(tool: Mapping[str, Any]) -> Turns | None:
    """The turns of a tool.json; None if it has none, or they are malformed."""
    entry = mapping(tool.get("turns"))
    numbers = [entry.get(name) for name in ("count", "load_ns", "drain_ns")]
    ticks, cpu_ns = items(entry.get("host_ticks")), mapping(entry.get("cpu_ns"))
    if not all(type(value) is int and 0 <= value < 1 << 63 for value in (*numbers, *ticks, *cpu_ns.values())):
        return None
    count, load_ns, drain_ns = (value or 0 for value in numbers)
    turns = Turns(
        count=count,
        seconds=(load_ns + drain_ns) / 1e9,
        cpu_s={str(name): value / 1e9 for name, value in cpu_ns.items()},
        host_ticks=tuple(ticks) if len(ticks) == 8 else (0,) * 8,
        missing={str(name): str(why) for name, why in mapping(entry.get("missing")).items()},
        end=end if isinstance(end := entry.get("end"), str) else None,
        late=late if type(late := entry.get("late")) is int else 0,
    )
    with suppress(ValueError):
        return replace(turns, steady=steady_part(turns, read_as(list[Turn], entry.get("each"))))
    return turns


def steady_part(turns: Turns, each: Sequence[Turn]) -> Turns | None:
    """What an average long turn has beyond an average short one; None if the window has no turns of two lengths.

    A turn begins with cold caches, and ends with fewer connections in flight than the level says. What that costs is
    the same in a long and a short turn, so it cancels in their difference, which is the service under steady load.

    If long turns hardly took longer, the whole window is steady: a service that serves one request at a time answers
    all connections even after a short turn, so it works all the time, and its turns consist of whole rounds of them.
    """
    long, short = ([turn for turn in each if turn.long is kind] for kind in (True, False))
    if not long or not short:
        return None

    octets = fmean(turn.octets for turn in long) - fmean(turn.octets for turn in short)
    ns = fmean(turn.load_ns + turn.drain_ns for turn in long) - fmean(turn.load_ns + turn.drain_ns for turn in short)
    load_ns = fmean(turn.load_ns for turn in long) - fmean(turn.load_ns for turn in short)
    if ns < LEAST_LONGER * load_ns:
        return turns
    if octets <= 0:
        return None
    names = set[str].intersection(*({*turn.cpu_ns} for turn in each))
    cpu_ns = {
        name: fmean(turn.cpu_ns[name] for turn in long) - fmean(turn.cpu_ns[name] for turn in short) for name in names
    }
    return replace(
        turns,
        count=1,
        seconds=ns / 1e9,
        cpu_s={name: max(0.0, used_ns) / 1e9 for name, used_ns in cpu_ns.items()},
        share=octets / sum(turn.octets for turn in each),
    )


def in_turns(parsed: Parsed, turns: Turns | None) -> Parsed:
    """The tool's output for the turns only: without rates and latencies, which the stops between turns distort."""
    return parsed if turns is None else replace(parsed, duration_s=turns.seconds, rps=None, latency_s=Latency())
