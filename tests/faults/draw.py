"""The moments of a fault run: whom it hits, in which phase of a run, and how far into it."""

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
"""The phases in which each is there; those of a run that goes on with another daemon begin with `up`."""


@dataclass(frozen=True, slots=True)
class Phase:
    """How often a phase comes in a run, and its mean length in milliseconds."""

    times: int
    ms: int


@dataclass(frozen=True, slots=True)
class Moment:
    """`ms` milliseconds into the `entry`th time of a phase."""

    number: int
    subject: str
    phase: str
    entry: int
    ms: int

    def line(self) -> str:
        """For the shell, a word each."""
        return f"{self.number} {self.subject} {self.phase} {self.entry} {self.ms}"


def phases_of(text: str) -> dict[str, Phase]:
    """What a run that nothing disturbed went through: from lines `PHASE MS`, when it came; the last one is `end`."""
    came = [(words[0], int(words[1])) for words in map(str.split, text.splitlines()) if len(words) == 2]
    spans: dict[str, list[int]] = {}
    for (name, begin), (_, end) in pairwise(came):
        spans.setdefault(name, []).append(end - begin)
    # Between two steps a phase may show for a moment, in which nothing is done.
    real = {name: [span for span in found if span >= max(found) / 10] for name, found in spans.items()}
    return {name: Phase(len(found), sum(found) // len(found)) for name, found in real.items()}


def draw(seed: int, count: int, phases: Mapping[str, Phase], subjects: Sequence[str] | None = None) -> list[Moment]:
    """So many moments. Subjects take turns, and those of one its phases, so that each comes; the rest is the seed's.

    Within a phase every moment is as likely as another. UserError for a subject that there is not.
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
        # The phase that was hit least, of those that this subject has not been hit in.
        order = orders[subject]
        chosen = min(order, key=lambda phase: (hit[phase], order.index(phase)))
        order.remove(chosen)
        order.append(chosen)
        hit[chosen] += 1
        phase = phases[chosen]
        moments.append(Moment(number, subject, chosen, rng.randint(1, phase.times), rng.randrange(max(1, phase.ms))))
    return moments
