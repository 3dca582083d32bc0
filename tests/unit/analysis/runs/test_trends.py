"""Trends over many runs: where a level changed, no changes in noise, and the host's part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import log

import numpy as np
import pytest
from simulate_runs import NULL, any_change, changed, history, key, made_up, sample

from bench.analysis.runs.differences import Samples
from bench.analysis.runs.trends import CHANGED, MAYBE_HOST, NO_CHANGE, SMALL, TOO_FEW, trends_of
from bench.stats.change_points import LEAST_PART, LEAST_RUNS, _noise, search, within

STEP = log(0.85)


def series(*levels: tuple[int, float], noise: float = 0.01, seed: int = 1) -> list[float]:
    """Noisy values, with `levels` as (number of values, level)."""
    rng = np.random.default_rng(seed)
    return [level + noise * float(rng.normal()) for count, level in levels for _ in range(count)]


def stepped(runs: int, at: int, *, cells: int = 5, seed: int = 1, step: float = STEP) -> list[Samples]:
    """Trends that are noise, except that the last one has a new level from run `at` on."""
    rng = np.random.default_rng(seed)
    return [
        made_up(rng, [0.005 * float(rng.normal()) for _ in range(cells - 1)] + [step * (run >= at)], name=f"r{run}")
        for run in range(runs)
    ]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Simulate fewer series of noise: a tenth is enough for these p values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.stats.change_points.SERIES", 2000)
        _noise.cache_clear()
        yield
    _noise.cache_clear()


# The search


@pytest.mark.parametrize("at", range(LEAST_PART, 12 - LEAST_PART + 1))
def test_a_step_is_found_where_it_is(at: int) -> None:
    found = search(series((at, 0.0), (12 - at, 0.1)))
    assert found.places == (at,) and found.p < 0.002


def test_a_step_that_was_taken_back_is_found() -> None:
    found = search(series((6, 0.0), (4, 0.1), (6, 0.0)))
    assert found.places == (6, 10) and found.p < 0.002


def test_more_changes_are_found_in_the_parts() -> None:
    values = series((6, 0.0), (6, 0.1), (6, 0.3), (6, 0.15))
    assert within(values, search(values)) == (6, 12, 18)


@pytest.mark.parametrize("values", [[], [1.0], [0.0] * 20, [0.0, 0.1, 0.0, 0.1]], ids=str)
def test_copies_and_very_few_have_no_place(values: list[float]) -> None:
    assert search(values).p == 1.0 and search(values).places == ()


def test_one_wild_run_is_no_level() -> None:
    values = series((12, 0.0), seed=4)
    values[5] += 0.2
    assert search(values).p > 0.05


def test_wild_runs_that_happen_to_stand_together_are_no_level() -> None:
    """Noise with outliers (Student's t, 3 degrees of freedom): the longer a trend, the more of them are neighbours."""
    rows = np.random.default_rng(2).standard_t(3, (400, 40))
    assert np.mean([search(row.tolist()).p <= 0.05 for row in rows]) <= 0.07


@pytest.mark.parametrize("runs", [LEAST_RUNS, 14])
def test_the_search_finds_places_in_noise_as_often_as_it_says(runs: int) -> None:
    rows = np.random.default_rng(2).normal(size=(800, runs))
    p = np.array([search(row.tolist()).p for row in rows])
    assert 0.02 <= np.mean(p <= 0.05) <= 0.07
    assert np.mean(p <= 0.01) <= 0.02


# Trends over runs


@pytest.mark.parametrize(("runs", "at"), [(8, 4), (9, 7), (12, 2)])
def test_the_run_with_the_new_level_is_named(runs: int, at: int) -> None:
    found = trends_of(stepped(runs, at))
    assert changed(found) == [("service-4", f"r{at}")]
    assert found[4].changes[0].ratio == pytest.approx(0.85, rel=0.02)
    assert [one.word for one in found] == [NO_CHANGE] * 4 + [CHANGED]


def test_noise_has_no_changes() -> None:
    wrong, _ = any_change(30, 6, LEAST_RUNS)
    assert wrong <= 0.05


def test_noise_has_no_changes_where_every_cut_is_large_enough() -> None:
    """Runs differ by far more than delta, so only the test prevents changes."""
    wrong, cut = any_change(200, 1, LEAST_RUNS, between=0.1, rounds=2)
    assert cut <= 0.08 and wrong <= cut


def test_a_step_that_the_null_server_has_too_may_be_the_hosts() -> None:
    runs = stepped(10, 5)
    moved = [
        run if n < 5 else replace(run, null={NULL: sample([value + STEP for value in run.null[NULL].values])})
        for n, run in enumerate(runs)
    ]
    found = trends_of(moved)
    assert changed(found) == []
    assert found[4].word == NO_CHANGE and found[4].changes[0].word == MAYBE_HOST
    assert found[4].changes[0].reason.startswith("the null server (json wrk c64) changed by -")


def test_without_a_null_server_a_step_may_be_the_hosts() -> None:
    found = trends_of([replace(run, null={}) for run in stepped(10, 5)])
    (change,) = found[4].changes
    assert (change.word, change.reason) == (MAYBE_HOST, "no null server in these runs")


def test_a_step_below_delta_is_none() -> None:
    rng = np.random.default_rng(1)
    found = trends_of([made_up(rng, [0.02 * (n >= 6)], spread=0.002, name=f"r{n}") for n in range(12)])
    assert [(change.word, change.run) for change in found[0].changes] == [(SMALL, "r6")]
    assert found[0].word == NO_CHANGE


def test_runs_without_a_value_are_gaps_and_the_right_run_is_named() -> None:
    runs = stepped(12, 7)
    for gap, cell in ((2, sample([], cause="errors")), (6, None), (7, sample([0.0] * 9, held=True))):
        cells = {name: value for name, value in runs[gap].cells.items() if name != key(4)}
        runs[gap] = replace(runs[gap], cells=cells | ({} if cell is None else {key(4): cell}))
    found = trends_of(runs)
    (last,) = [one for one in found if one.service == "service-4"]
    assert [change.run for change in last.changes] == ["r8"]
    causes = {name: point.cause for name, point in zip(last.runs, last.points, strict=True) if point.value is None}
    assert causes == {"r2": "errors", "r6": "not in this run", "r7": "limited by the target rate"}


@pytest.mark.parametrize("runs", [1, 4])
def test_few_runs_are_no_trend(runs: int) -> None:
    assert trends_of(stepped(runs, 2)) == []


@pytest.mark.parametrize("runs", [5, LEAST_RUNS - 1])
def test_a_short_trend_is_shown_and_not_searched(runs: int) -> None:
    found = trends_of(stepped(runs, 3, step=5.0))
    assert {(one.word, one.p, one.changes) for one in found} == {(TOO_FEW, None, ())}
    assert found[0].reason == f"{runs} runs with a value; the search for changes needs {LEAST_RUNS}"


def test_a_line_of_json_has_points_and_changes() -> None:
    for one in trends_of(stepped(9, 5)):
        line = json.loads(one.to_json(), parse_constant=pytest.fail)
        assert len(line["points"]) == len(line["runs"]) == 9
        assert [change["run"] for change in line["changes"]] == [change.run for change in one.changes]


def test_trends_do_not_depend_on_the_order_of_cells() -> None:
    runs = history(np.random.default_rng(3), 4, 9)
    turned = [replace(run, cells=dict(reversed([*run.cells.items()]))) for run in runs]
    assert sorted(one.p or 0 for one in trends_of(runs)) == sorted(one.p or 0 for one in trends_of(turned))
