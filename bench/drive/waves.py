"""Which steps of a round are made side by side, and on which lane (see driver/nodes/choice.py).

Pure. What is compared within a round stays on one lane. Lanes are drawn anew in each round, so that how fast a node is
falls out of what is compared over several rounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from bench.drive.steps import Step

Group = tuple[str, ...]


def group_of(step: Step) -> Group:
    """What stays together: a block, or the windows alone that differ in settings, package, tool and level at most."""
    if step.mode != "solo":
        return (step.id,)
    return tuple(str(step.first[key]) for key in ("server", "framework", "python", "base", "scenario"))


def dealt(steps: Sequence[Step], lanes: int, seed: str) -> dict[str, int]:
    """The lane of each step of a round, so that all lanes have about the same to do."""
    groups: dict[Group, list[Step]] = {}
    for step in steps:
        groups.setdefault(group_of(step), []).append(step)
    seconds = {group: sum(step.seconds for step in own) for group, own in groups.items()}
    rng = random.Random(seed)
    drawn = rng.sample(sorted(groups), len(groups))
    load = dict.fromkeys(rng.sample(range(1, lanes + 1), lanes), 0.0)
    found: dict[str, int] = {}
    for group in sorted(drawn, key=lambda group: -seconds[group]):
        lane = min(load, key=lambda lane: load[lane])
        load[lane] += seconds[group]
        found |= {step.id: lane for step in groups[group]}
    return found


def next_wave(queue: Sequence[Step], lane_of: Mapping[str, int], is_out: Callable[[Step], bool]) -> dict[int, Step]:
    """The next step of each lane that has one. No service is in two of them: it has one log of its start.

    Shares of a knee come after all others of the first round, which look for it. `is_out`: the step has a service that
    is not loaded.
    """
    left = [step for step in queue if not is_out(step)]
    waits = any(step.round == 1 and not _needs_knee(step) for step in left)
    found: dict[int, Step] = {}
    services: set[str] = set()
    for step in left:
        lane = lane_of[step.id]
        later = waits and _needs_knee(step)
        if lane in found or later or not services.isdisjoint(step.services):
            continue
        found[lane] = step
        services.update(step.services)
    return dict(sorted(found.items()))


def _needs_knee(step: Step) -> bool:
    return step.first.get("knee_share") is not None
