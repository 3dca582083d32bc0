"""Plans of the project's own matrix, on a machine that has Debian's images and one CPU for servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from places import ROOT

from bench.matrix.knobs import parse_knob, reader
from bench.matrix.load import load_matrix
from bench.matrix.packages import locked
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.selection import Selection
from bench.plan.variants import Variant

MATRIX = load_matrix(ROOT / "services/matrix.toml")
HERE = Variant(
    matrix=MATRIX,
    settings={"WORKER_CLASS": "sync"},
    reachable=lambda service: service.base == "debian",
    reads=reader(ROOT / "services"),
    pins=locked(ROOT / "services/locks"),
)


def plan(*vary: str, settings: dict[str, str] | None = None, **wanted: Any) -> Plan:
    """The plan of a selection with these knobs; `settings` besides those of `HERE`."""
    here = replace(HERE, settings={**HERE.settings, **(settings or {})})
    return make_plan(here, Selection(vary=tuple(map(parse_knob, vary)), **wanted))
