"""What frameworks cost beside the bare app: shares, what is out of line, and orders that differ between raw and ORM."""

from __future__ import annotations

import pytest

from bench.analysis.profiles.framework_costs import (
    Cost,
    CostFigure,
    Group,
    Reversal,
    Window,
    costs,
    outliers,
    reversals,
    void,
)


def group(*services: str, bare: str | None = None, kind: str = "async") -> Group:
    return Group("a server", kind, services, bare)


def cost(value: float, spread: float = 0.0, rounds: int = 3) -> Cost:
    figure = CostFigure(value, value * (1 - spread / 2), value * (1 + spread / 2), rounds)
    return Cost(figure, figure)


def test_a_share_compares_windows_of_the_same_round() -> None:
    windows = [
        Window("bare", "/json", 1, 10_000),
        Window("bare", "/json", 2, 20_000),
        Window("own", "/json", 1, 20_000),
        Window("own", "/json", 2, 50_000),
        Window("own", "/json", 3, None),
        Window("alone", "/json", 1, 7_000),
    ]
    found = costs(windows, [group("bare", "own", bare="bare"), group("alone")])
    assert found["own", "/json"] == Cost(us=CostFigure(35, 20, 50, 2), share=CostFigure(2.25, 2, 2.5, 2))
    assert found["own", "/json"].figure.spread == pytest.approx(0.5 / 2.25)
    assert found["bare", "/json"].share is found["alone", "/json"].share is None
    assert [window.round for window in void(windows)] == [3]


def test_without_the_bare_apps_figure_there_is_no_share_and_nothing_in_its_place() -> None:
    windows = [Window("bare", "/json", 1, None), Window("own", "/json", 1, 20_000), Window("own", "/db", 1, 1)]
    assert costs(windows, [group("bare", "own", bare="bare")]) == {}


def test_twice_the_median_of_its_kind_needs_an_explanation() -> None:
    shares = {"a": 1.1, "b": 1.2, "c": 2.5, "d": 9.0, "bare": 0.1}
    found = {(name, "/json"): cost(share) for name, share in shares.items()}
    groups = [group("bare", "a", "b", bare="bare", kind="sync"), group("c", kind="sync"), group("d")]
    assert outliers(found, groups) == {("c", "/json"): 1.2}
    found["c", "/json"] = cost(2.4)
    assert outliers(found, groups) == {}


def test_an_order_that_differs_between_raw_and_orm_is_named() -> None:
    found = {("a", "/raw/db"): cost(1), ("b", "/raw/db"): cost(2), ("a", "/orm/db"): cost(3), ("b", "/orm/db"): cost(2)}
    turned = [Reversal(cheaper_raw="a", cheaper_orm="b", path="/db")]
    groups = [group("a", "b")]
    assert reversals(found, groups, ["/db", "/fortunes"]) == turned
    assert reversals(found, [group("a"), group("b")], ["/db"]) == []
    assert reversals(found, [group("a", "b", bare="a")], ["/db"]) == []


@pytest.mark.parametrize("raw", [cost(1.1, spread=1.8), cost(1.9), cost(1, rounds=2)])
def test_what_the_rounds_cannot_tell_apart_is_no_order(raw: Cost) -> None:
    found = {("a", "/raw/db"): raw, ("b", "/raw/db"): cost(2), ("a", "/orm/db"): cost(3), ("b", "/orm/db"): cost(2)}
    assert reversals(found, [group("a", "b")], ["/db"]) == []
