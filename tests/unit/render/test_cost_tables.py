"""Tables of what frameworks cost, and what in them needs an explanation."""

from __future__ import annotations

from bench.analysis.profiles.framework_costs import Cost, CostFigure, Group, Reversal, Window
from bench.render.cost_tables import table, to_explain

GROUP = Group("uvicorn", "async", ["bare", "own"], "bare")


def exact(value: float) -> CostFigure:
    return CostFigure(value, value, value, 3)


def test_the_bare_app_has_times_and_the_others_shares() -> None:
    found = {
        ("bare", "/json"): Cost(exact(43.21), None),
        ("bare", "/db"): Cost(exact(4.321), None),
        ("bare", "/orm/db"): Cost(exact(8912), None),
        ("own", "/json"): Cost(exact(90), CostFigure(2.084, 2.0, 2.3, 3)),
        ("own", "/db"): Cost(exact(9), exact(13.04)),
        ("own", "/orm/db"): Cost(exact(9), CostFigure(1, 0.96, 1.05, 3)),
    }
    routes = ["/json", "/db", "/orm/db", "/fortunes"]
    lines = table(found, GROUP, routes, {"bare": "asgi", "own": "quart"}, [("own", "/db")]).splitlines()
    assert lines == [
        "uvicorn, 3 rounds:",
        "",
        "|  | `/json` | `/db` | `/orm/db` | `/fortunes` |",
        "|---|---:|---:|---:|---:|",
        "| asgi | 43 µs | 4.3 µs | 8,912 µs | - |",
        "| quart | 2.08 (2.00 to 2.30) | **13.0** | 1.00 | - |",
    ]


def test_what_needs_an_explanation_is_a_line_each() -> None:
    found = {("own", "/json"): Cost(exact(90), exact(9))}
    lines = to_explain(found, {("own", "/json"): 3.0}, [Reversal("a", "b", "/db")], [Window("own", "/db", 2, None)])
    assert [*lines] == [
        "own /json: 3.0 times the median of its kind",
        "a costs less than b on /raw/db, and more on /orm/db",
        "own /db, round 2: wrong answers, so no figure",
    ]
