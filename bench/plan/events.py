"""The events of a bad day, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bench.core.errors import unknown
from bench.events import NAMES, folder_of, of_event
from bench.matrix.model import Route
from bench.plan.event import BEFORE_S, SWAPPED, Event, Kind, Phase, kind_of
from driver.messages import Action

NGINX = "HUP: starting new worker processes, graceful shutdown of old ones (nginx.org/en/docs/control.html)"

UNKNOWN = Kind()
"""Stands for an event of another version."""


def _kind(name: str) -> Kind:
    adapted: Kind | None = of_event(name, "cases", None)
    return adapted or kind_of(str(folder_of(name) / "event.toml"))


EVENTS: Mapping[str, Kind] = MappingProxyType({name: _kind(name) for name in NAMES})


def event_kind(name: str) -> Kind:
    """The event with this name; UNKNOWN if it is of another version."""
    return EVENTS.get(name, UNKNOWN)


def cases_of(entry: str) -> tuple[Event, ...]:
    """The cases of an event by its name, or one of them (`slow-silent`), in the first rounds (`slow:2`); or none."""
    name, _, rounds = entry.partition(":")
    if rounds and not (rounds.isdecimal() and int(rounds)):
        return ()
    cases = (case for kind in EVENTS.values() for case in kind.cases if name in (case.name, case.level))
    return tuple(replace(case, most_rounds=int(rounds or 0)) for case in cases)


def kinds_of(names: Iterable[str]) -> list[Kind]:
    """The events with these names, each once, with the cases that are named; UserError for an unknown name."""
    chosen: dict[str, dict[str, Event]] = {}
    for entry in names:
        if not (cases := cases_of(entry)):
            raise unknown("event", entry, EVENTS)
        for case in cases:
            chosen.setdefault(case.name, {}).setdefault(case.level, case)
    return [replace(EVENTS[name], cases=(*levels.values(),)) for name, levels in chosen.items()]


def usual_cases(names: Iterable[str], usual: Sequence[str], *, all_rounds: bool) -> tuple[str, ...]:
    """The names with each whole event replaced by its entries in `usual`, the events of a preset.

    A case that `usual` does not have is chosen by its own name only. `all_rounds`: ignore the rounds in `usual`; rounds
    in `names` hold in any case.
    """
    entries: list[str] = []
    for name in names:
        event, _, rounds = name.partition(":")
        own = [entry.partition(":") for entry in usual if event in {case.name for case in cases_of(entry)}]
        cases = [(case, rounds or ("" if all_rounds else most)) for case, _, most in own]
        entries += [":".join(filter(None, one)) for one in cases] or [name]
    return tuple(entries)


def of_app(event: Event, route: Route) -> Event | str:
    """The event for a user's own app, which has neither our variables nor our routes; or why it cannot have it.

    It runs alone: 30 % of the capacity of an app that needs the CPU, several times, would be an overload.
    """
    if "BOOT_S" in event.environment:
        return "its boot time is its own"
    if event.slow_route:
        return "it is not known whether your own app has such a route"
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
    if event.until != SWAPPED:
        return event
    return replace(event, actions=(Action(BEFORE_S, "signal", "HUP", "main"),), documented=NGINX)
