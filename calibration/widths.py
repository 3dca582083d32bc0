"""How sharp the tables of any run are: the half-widths of their intervals, everything in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.core.errors import UserError
from bench.core.formats import markdown_table
from bench.core.groups import grouped
from bench.export.columns import contrasts_of
from bench.stats.table_verdicts import EQUAL, FASTER, SLOWER


def half_width(interval: Sequence[float]) -> float:
    """Half of an interval of a ratio - 1, on the logarithmic scale."""
    low, high = interval
    return (math.log1p(high) - math.log1p(low)) / 2


def widths(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, True): for each table, the median and the largest half-width, and how many differences have a verdict.

    A self-test of no promise: what is sharp enough depends on the question. UserError if no run has a table.
    """
    heads = ("run", "table", "differences", "half-width, median", "largest", "called", "equal")
    rows = []
    for folder in folders:
        by_table = grouped(contrasts_of(folder), lambda one: f"{one['scenario']} {one['tool']} {one['level']}")
        for table, contrasts in by_table.items():
            known = [half_width(one["interval"]) for one in contrasts if one["interval"]]
            sizes = [f"{100 * size:.1f} %" for size in (median(known), max(known))] if known else ["none", "none"]
            words = [str(sum(one["verdict"] in of for one in contrasts)) for of in ((FASTER, SLOWER), (EQUAL,))]
            rows.append([Path(folder).name, table, str(len(contrasts)), *sizes, *words])
    if not rows:
        raise UserError("these runs have no table in turns")
    return markdown_table(heads, rows, range(2, len(heads))), True
