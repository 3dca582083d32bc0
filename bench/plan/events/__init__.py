"""The events of a bad day, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bench.core.errors import unknown
from bench.matrix.model import Route
from bench.plan.event import BEFORE_S, Event, Kind, Phase
from bench.plan.events.dependencies import DEPENDENCIES
from bench.plan.events.growth import GROWTH
from bench.plan.events.load import LOADS
from bench.plan.events.processes import PROCESSES
from bench.plan.events.proxies import PROXIES
from driver.messages import Action

NGINX = "HUP: starting new worker processes, graceful shutdown of old ones (nginx.org/en/docs/control.html)"

EVENTS: Mapping[str, Kind] = MappingProxyType({**PROCESSES, **PROXIES, **LOADS, **GROWTH, **DEPENDENCIES})
"""In the order in which they are planned and reported."""


def kind_of(name: str) -> Kind | None:
    """The event with this name, or one case of it (`slow-silent`), in the first rounds (`slow:2`); None if unknown."""
    name, _, rounds = name.partition(":")
    if rounds and not (rounds.isdecimal() and int(rounds)):
        return None
    for event, kind in EVENTS.items():
        if cases := tuple(case for case in kind.cases if name in (event, case.level)):
            return replace(kind, cases=tuple(replace(case, most_rounds=int(rounds or 0)) for case in cases))
    return None


def kinds_of(names: Iterable[str]) -> list[Kind]:
    """The events with these names, each once, with the cases that are named; UserError for an unknown name."""
    kinds: dict[str, Kind] = {}
    for entry in names:
        kind = kind_of(entry)
        if kind is None:
            raise unknown("event", entry, EVENTS)
        name = kind.cases[0].name
        before = kinds[name].cases if name in kinds else ()
        levels = {case.level for case in before}
        kinds[name] = replace(kind, cases=(*before, *(case for case in kind.cases if case.level not in levels)))
    return [*kinds.values()]


def usual_cases(names: Iterable[str], usual: Sequence[str], *, all_rounds: bool) -> tuple[str, ...]:
    """The names with each whole event replaced by its entries in `usual`, the events of a preset.

    A case that `usual` does not have is chosen by its own name only. `all_rounds`: ignore the rounds in `usual`; rounds
    in `names` hold in any case.
    """
    entries: list[str] = []
    for name in names:
        event, _, rounds = name.partition(":")
        own = [entry.partition(":") for entry in usual if event in EVENTS and _event_of(entry) == event]
        cases = [(case, rounds or ("" if all_rounds else most)) for case, _, most in own]
        entries += [":".join(filter(None, one)) for one in cases] or [name]
    return tuple(entries)


def _event_of(name: str) -> str:
    """The event that a name of an event or case belongs to; empty if unknown."""
    kind = kind_of(name)
    return kind.cases[0].name if kind else ""


def of_app(event: Event, route: Route) -> Event | str:
    """The event for a user's own app, which has neither our variables nor our routes; or why it cannot have it.

    It runs alone: 30 % of the capacity of an app that needs the CPU, several times, would be an overload.
    """
    if "BOOT_S" in event.environment:
        return "its boot time is its own"
    if event.slow == "body" and route.exchange.method == "GET":
        return "its first request has no body"
    ours = ("TELL_PID", "WORK_MS", "TAKE_BODIES")
    environment = {name: value for name, value in event.environment.items() if name not in ours}
    return replace(event, environment=environment, long_path="", slow_path="", most_beside=1)


def lasting(event: Event, seconds: float | None) -> Event:
    """The event with its load lasting `seconds`, if it sends as many requests as fit the time; otherwise unchanged."""
    return replace(event, phases=(Phase(1.0, seconds),), most_requests=0) if event.most_requests and seconds else event


def with_signal(event: Event) -> Event:
    """The event on the null server, which is nginx and reloads with SIGHUP."""
    if event.name != "reload" and not event.repeats:
        return event
    return replace(event, actions=(Action(BEFORE_S, "signal", "HUP", "main"),), documented=NGINX)
