"""Up to three times the capacity, and then half of it, until the service has recovered."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import RECOVERED, Event, EventCase, Kind, Losses, Phase, Question

AFTER = 0.5
"""The share of the capacity that is asked for after an overload."""
MOST_SHORT = 128
"""A backlog up to MOST_SHORT is worked off within a second, for which the clients of an overload wait."""
OWN_BACKLOG = EventCase("20 s, own backlog")
LONG = (Phase(0.5, 4.0), Phase(1.5, 6.0), Phase(3.0, 20.0))
RECOVERY_SHARE = 0.56
"""How much of the longest recovery from an overload servers need: the mean of 32, of which one needs all and more."""


def _overload(case: EventCase, *phases: Phase) -> Event:
    """An overload with a window in which any server of unchanged capacity works off its queue.

    That takes longest if it keeps everything that it cannot answer at once, and also works on requests whose clients
    have left.
    """
    queued_s = sum((phase.share - 1) * phase.seconds for phase in phases if phase.share > 1)
    return Event(
        name="overload",
        case=case,
        phases=(*phases, Phase(AFTER, queued_s / (1 - AFTER))),
        timeout_s=1.0,
        most_rate=None,
        most_beside=1,
        until=RECOVERED,
        environment={"TELL_PID": "1", "WORK_MS": "5"},
    )


def _with_own_backlog(event: Event, service: Service, _: Reads) -> Event | str:
    """In the case of their own, servers whose backlog is worked off before the clients leave."""
    backlog = service.server.defaults.get("backlog")
    if event.case != OWN_BACKLOG:
        return event
    if backlog is None or int(backlog.value) > MOST_SHORT:
        return f"its default backlog is not short: see `{event.name}, 20 s`"
    return replace(event, environment={**event.environment, "BACKLOG": backlog.value})


CASES = Kind(
    "0.5, 1.5 and 3 times the capacity, then 0.5 again; each request takes 5 ms of CPU, the client waits 1 s",
    "plaintext",
    (
        _overload(EventCase("20 s"), *LONG),
        _overload(OWN_BACKLOG, *LONG),
        _overload(EventCase("10 s"), Phase(0.5, 4.0), Phase(1.5, 3.0), Phase(3.0, 10.0)),
    ),
    _with_own_backlog,
    floor=False,
    question=Question.OVERLOAD,
    losses=Losses.INTENDED,
    queues=True,
    usual_s=lambda event: sum(one.seconds for one in event.phases[:-1]) + RECOVERY_SHARE * event.phases[-1].seconds,
)
