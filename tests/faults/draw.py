"""The moments of a fault run: what is killed, in which phase of a run, and how far into it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.core.errors import UserError

PHASES = ("plan", "build", "up", "verify", "load", "write", "report")
_CONTAINER = ("up", "verify", "load", "write", "report")
SUBJECTS: Mapping[str, Sequence[str]] = {
    "script": PHASES,
    "server": ("verify", "load"),
    "postgres": _CONTAINER,
    "worker": PHASES[1:],
    "loadgen": _CONTAINER,
    "group": PHASES,
    "upstream": _CONTAINER,
    "server-worker": ("verify", "load"),
    "hangup": PHASES[1:],
    "daemon": _CONTAINER,
    "restart": _CONTAINER,
}
"""The phases in which each exists. With a second daemon, a run is resumed after its build, so they begin with `up`."""


@dataclass(frozen=True, slots=True)
class Phase:
    """How often a phase occurs in a run, and its mean length in ms."""

    times: int
    ms: int


@dataclass(frozen=True, slots=True)
class Moment:
    """`ms` milliseconds after a phase begins for the `entry`th time."""

    number: int
    subject: str
    phase: str
    entry: int
    ms: int

    def line(self) -> str:
        """A line for the shell, one word per field."""
        return f"{self.number} {self.subject} {self.phase} {self.entry} {self.ms}"


def phases_of(text: str) -> dict[str, Phase]:
    """The phases of an undisturbed run, from lines `PHASE MS` with the time when each began; the last one is `end`."""
    came = [(words[0], int(words[1])) for words in map(str.split, text.splitlines()) if len(words) == 2]
    spans: dict[str, list[int]] = {}
    for (name, begin), (_, end) in pairwise(came):
        spans.setdefault(name, []).append(end - begin)
    # Ignore phases that show up only for a moment between two steps.
    real = {name: [span for span in found if span >= max(found) / 10] for name, found in spans.items()}
    return {name: Phase(len(found), sum(found) // len(found)) for name, found in real.items()}


def draw(seed: int, count: int, phases: Mapping[str, Phase], subjects: Sequence[str] | None = None) -> list[Moment]:
    """Draws `count` moments. Subjects take turns, and so do the phases of each; the rest depends on the seed.

    Within a phase, moments are uniformly distributed. UserError for an unknown subject.
    """
    names = tuple(SUBJECTS) if subjects is None else subjects
    if unknown := ", ".join(name for name in names if name not in SUBJECTS):
        raise UserError(f"unknown subject '{unknown}'; there are: {', '.join(SUBJECTS)}")
    rng = random.Random(seed)
    orders = {name: [phase for phase in SUBJECTS[name] if phase in phases] for name in names}
    for order in orders.values():
        rng.shuffle(order)
    hit: dict[str, int] = dict.fromkeys(phases, 0)
    moments = []
    for number in range(1, count + 1):
        subject = names[(number - 1) % len(names)]
        # The least hit phase, preferring those in which this subject was not hit yet.
        order = orders[subject]
        chosen = min(order, key=lambda phase: (hit[phase], order.index(phase)))
        order.remove(chosen)
        order.append(chosen)
        hit[chosen] += 1
        phase = phases[chosen]
        moments.append(Moment(number, subject, chosen, rng.randint(1, phase.times), rng.randrange(max(1, phase.ms))))
    return moments
