"""The finder on the site's front page: what published runs say of each server, as data for finder.js. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.core.groups import grouped
from bench.events.idle_close.cases import NOT_KEPT_S
from bench.matrix.model import Matrix, stack_name
from bench.render.site_pages import Placing
from bench.render.text import rounded
from bench.run.facts import RunFacts
from bench.words.names import framework_words
from bench.words.setup import condition_words

Line = Mapping[str, Any]
SHOWN = ("run", "load", "table", "server", "framework", "cpu_us", "memory_bytes", "p99")
"""The fields of a place that the finder shows."""


@dataclass(frozen=True, slots=True)
class Trait:
    """Whether events of a run show that a server `keeps` connections, or loses nothing at a `reload`.

    `holds`: None if that was not counted, as `words` say.
    """

    run: str
    started: str
    condition: str
    server: str
    name: str
    holds: bool | None
    words: str


def traits(run: str, facts: RunFacts, lines: Iterable[Line]) -> Iterator[Trait]:
    """What the events in a run's verdicts.jsonl show of its servers, in their locked versions without settings."""
    plain = {name: one.server for name, one in facts.services.items() if not one.package and not one.settings}
    events = [line for line in lines if line.get("kind") == "event" and line["service"] in plain]
    for (event, server), cells in grouped(events, lambda line: (line["event"], plain[line["service"]])).items():
        if event in JUDGES and not facts.own_app:
            name, judge = JUDGES[event]
            yield Trait(run, facts.run, condition_words(facts), server, name, *judge(cells))


def _keeps(cells: Sequence[Line]) -> tuple[bool | None, str]:
    """Whether it keeps idle connections, from when it closes them."""
    figures = [cell.get("figures") or {} for cell in cells if cell["kind_of_cell"] == "counted"]
    closed = [seconds for one in figures for seconds in one.get("idle_s", ()) if seconds is not None]
    if closed:
        kept = max(closed) >= NOT_KEPT_S
        return kept, f"closes them after {max(closed):.0f} s" if kept else "closes them after each response"
    held = any(count for one in figures for count in one.get("held", ()))
    return (True, "closes none while watched") if held else (None, "not counted")


def _loses_nothing(cells: Sequence[Line]) -> tuple[bool | None, str]:
    """Whether no case of a reload lost a request. One without counts leaves that open, unless another lost some."""
    counted = [cell for cell in cells if cell["kind_of_cell"] == "counted"]
    lost, sent = (sum(cell[name] for cell in counted) for name in ("lost", "sent"))
    if not counted and all(cell["kind_of_cell"] == "cannot" for cell in cells):
        return None, "not supported"
    open_cases = f" in {len(counted)} of {len(cells)} cases" if len(counted) < len(cells) else ""
    holds = None if open_cases and not lost else not lost
    return holds, f"lost {lost:,} of {sent:,}{open_cases}"


JUDGES: Mapping[str, tuple[str, Callable[[Sequence[Line]], tuple[bool | None, str]]]] = {
    "idle-close": ("keeps", _keeps),
    "reload": ("reload", _loses_nothing),
}
"""By event, the trait that it shows, and how that is judged."""


def finder_data(matrix: Matrix, placed: Iterable[Placing], shown: Sequence[Trait]) -> dict[str, Any]:
    """What finder.js reads. The newest comes first, and counts; what was not measured is null."""
    frameworks = {name: one for name, one in matrix.frameworks.items() if not one.selftest}
    known = [one for one in placed if one.server in matrix.servers and one.framework in frameworks]
    rows = [one for one in known if not one.package and not one.settings]
    rows.sort(key=lambda one: one.started, reverse=True)
    servers: dict[str, dict[str, Any]] = {
        name: {"aside": "not meant for production" if one.development else ""} for name, one in matrix.servers.items()
    }
    for trait in sorted(shown, key=lambda one: (one.holds is not None, one.started)):
        if trait.server in servers:
            servers[trait.server][trait.name] = {"run": trait.run, "holds": trait.holds, "words": trait.words}
    hosts = grouped(matrix.usual, lambda service: service.framework.name)
    data = {
        "runs": {one.run: one.condition for one in rows} | {one.run: one.condition for one in shown},
        "rows": [_row(one) for one in rows],
        "servers": servers,
        "frameworks": {
            name: {"words": framework_words(name), "servers": [service.server.name for service in hosts.get(name, ())]}
            for name in sorted(frameworks, key=lambda name: framework_words(name).lower())
        },
    }
    return dict(rounded(data))


def _row(place: Placing) -> dict[str, Any]:
    fields, stack = asdict(place), stack_name(place.server, place.framework)
    named = place.service in (place.server, place.framework)
    more = "" if named else place.service.removeprefix(stack).lstrip(", -")
    return {name: fields[name] for name in SHOWN} | {"more": more}
