"""Synthetic rankings of tables in turns with exactly known differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turns_runs import ranking_of

from bench.analysis.services import Coordinates
from bench.analysis.tables.ranking import Contrast, Figure, Metric, Ranking
from bench.core.service_settings import Settings
from bench.words.answers import sentences

SURE = 0.01
"""Half-width of the intervals, as a logarithm."""


def place(server: str, framework: str = "flask", python: str = "3.13", settings: str = "", **more: Any) -> Coordinates:
    found: dict[str, Any] = {"base": "debian", "package": None} | more
    return Coordinates(server, framework, python, settings=Settings.parse(settings), **found)


def ranking(speeds: Mapping[str, float], metric: Metric = Metric.CPU, same: float = 0.02, look: int = 8) -> Ranking:
    """A ranking of services with these speeds; differences below `same` are not shown."""
    names = sorted(speeds, key=lambda name: -speeds[name])
    contrasts = []
    for number, a in enumerate(speeds):
        for b in [*speeds][number + 1 :]:
            d = math.log(speeds[b] / speeds[a])
            word = "equal" if abs(d) < same else "faster" if d > 0 else "slower"
            bounds = (math.expm1(d - SURE), math.expm1(d + SURE))
            values: dict[str, Any] = {"difference": math.expm1(d), "interval": bounds, "smallest_visible": None}
            contrasts.append(Contrast(a=a, b=b, verdict=word, **values))
    like = ranking_of({"aiohttp": 5000, "tornado": 3000}, 4)
    rows = tuple(replace(like.rows[0], service=name, rank=i) for i, name in enumerate(names, 1))
    return replace(like, metric=metric, look=look, rows=rows, contrasts=tuple(contrasts))


def without_rank(found: Ranking, service: str, remark: Any, **changes: Any) -> Ranking:
    """The ranking, in which a service has no rank but a remark."""
    rows = (replace(r, rank=None, remarks=(remark,), **changes) if r.service == service else r for r in found.rows)
    return replace(found, rows=tuple(rows))


def sentences_of(found: Ranking, places: Mapping[str, Coordinates] | None = None) -> tuple[str, ...]:
    """The sentences about a ranking, with services by their full names."""
    return sentences(found, places or {}, {row.service: row.service for row in found.rows})


def rungs(speeds: Mapping[str, float], metric: Metric = Metric.CPU) -> tuple[Ranking, dict[str, Coordinates]]:
    """Releases of one package, each a service named after its version."""
    places = {version: place("gunicorn-sync", "wsgi", package=f"gunicorn=={version}") for version in speeds}
    found = ranking(speeds, metric)
    figures = {row.service: Figure(1e6 / speeds[row.service], 990, 1010) for row in found.rows}
    rows = [replace(row, cpu_us=figures[row.service], goodput=figures[row.service]) for row in found.rows]
    return replace(found, rows=tuple(rows)), places
