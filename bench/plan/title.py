"""The title of a run: what was selected, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.core.formats import joined
from bench.matrix.model import Framework, Service
from bench.plan.cells import PlannedCell


def title_of(cells: Sequence[PlannedCell], refs: Sequence[str]) -> str:
    """What was selected, in words: `aiohttp and tornado (Python 3.13): json`. `refs` are labels, the base's first."""
    services = list({cell.service.name: cell.service for cell in cells}.values())
    loads = _listed(list(dict.fromkeys(cell.event.name if cell.event else cell.scenario for cell in cells)))
    if len(refs) > 1:
        # Both services of a pair have the same stack.
        stacks = _listed(list(dict.fromkeys(service.stack for service in services)))
        return f"{' against '.join(reversed(refs))}: {stacks}: {loads}"
    ours = [service for service in services if not service.url]
    if ours and (own := ours[0].framework).own:
        return _question_of(own, services)
    pythons, bases = ({getattr(service, what) for service in ours} for what in ("python", "base"))
    one_of_each = len(pythons) == len(bases) == 1
    names = list(dict.fromkeys(service.stack if one_of_each else service.built_as for service in services))
    where = f" (Python {ours[0].python}, {ours[0].base})" if one_of_each else ""
    settings = list(dict.fromkeys(service.settings.text for service in services if service.settings))
    where += f" with {_listed(settings)}" if settings else ""
    return f"{_listed(names)}{where}: {loads}"


def _question_of(app: Framework, services: Sequence[Service]) -> str:
    """The question about a user's own app: `Which server for ./shop (main:app)?`."""
    assert app.own
    name = f"./{Path(app.own.source).name} ({app.environment['APP']})"
    servers = {service.server.name for service in services}
    pythons = {service.python for service in services if not service.url}
    knobs = dict.fromkeys(knob for service in services for knob in service.settings)
    asked = [*["server"] * (len(servers) > 1), *["Python"] * (len(pythons) > 1), *knobs]
    where = f" on {services[0].server.name}" if len(servers) == 1 else ""
    return f"Which {joined(asked)} for {name}{where}?" if asked else f"{name}{where}"


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = [*names] if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return joined(shown)
