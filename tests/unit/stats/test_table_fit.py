"""The fit of a table compared with scipy and with the textbook's matrices, and without enough data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy import linalg, stats
from simulate_tables import Spread, observations

from bench.stats.estimates import Interval
from bench.stats.table_family import half_widths
from bench.stats.table_fit import Observation, fit_table


def made(seed: int, services: int = 6, rounds: int = 6, **facts: object) -> list[Observation]:
    spread = Spread(missing=facts.pop("missing", 0.0))  # type: ignore[arg-type]
    truths = [0.03 * place for place in range(services)]
    return observations(np.random.default_rng(seed), truths, rounds, spread, **facts)  # type: ignore[arg-type]


def window(number: int, round_: int, **values: float) -> list[Observation]:
    return [Observation(round_, number, name, value) for name, value in values.items()]


def rounds_of(seen: list[Observation], service: str) -> np.ndarray:
    rounds = sorted({one.round for one in seen})
    return np.array([np.mean([o.value for o in seen if o.round == r and o.service == service]) for r in rounds])


@pytest.mark.parametrize("windows", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_where_nothing_is_missing_it_is_the_paired_t_test(seed: int, windows: int) -> None:
    seen = made(seed, windows=windows)
    fit = fit_table(seen)
    assert not fit.bias and len(fit.components) == 1 and fit.rounds == tuple(range(1, 7))
    for i, j in combinations(fit.services, 2):
        found, expected = fit.contrast(i, j), stats.ttest_rel(rounds_of(seen, i), rounds_of(seen, j))
        assert found is not None
        low, high = map(pytest.approx, expected.confidence_interval(0.99))
        assert found.interval(0.99) == Interval(low, high, 0.99) and found.df == pytest.approx(5)


def textbook(seen: list[Observation], i: str, j: str) -> tuple[float, float, float]:
    """Estimate, CR2 error and Bell and McCaffrey's degrees of freedom, with a dummy for each window."""
    windows, services = sorted({o.window for o in seen}), sorted({o.service for o in seen})
    x = np.array([[o.window == w for w in windows] + [o.service == s for s in services[1:]] for o in seen], dtype=float)
    y, cluster = np.array([o.value for o in seen]), np.array([o.round for o in seen])
    bread = np.linalg.inv(x.T @ x)
    beta = bread @ x.T @ y
    residuals, maker = y - x @ beta, np.eye(len(y)) - x @ bread @ x.T
    effects = dict(zip(services[1:], range(len(windows), x.shape[1]), strict=True))
    c = np.zeros(x.shape[1])
    for name, sign in ((i, 1), (j, -1)):
        if name in effects:
            c[effects[name]] += sign
    squares, columns = [], []
    for number in sorted(set(cluster)):
        here = cluster == number
        # The window dummies make it singular, hence the pseudo-inverse root (Pustejovsky and Tipton 2018).
        values, vectors = linalg.eigh(maker[np.ix_(here, here)])
        root = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)
        adjusted = (vectors * root) @ vectors.T @ x[here] @ bread @ c
        squares.append((adjusted @ residuals[here]) ** 2)
        columns.append(maker[:, here] @ adjusted)
    g = np.array(columns)
    inner = g @ g.T
    return float(c @ beta), math.sqrt(sum(squares)), float(np.trace(inner) ** 2 / (inner**2).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("services, block, windows", [(5, 8, 1), (5, 8, 2), (9, 4, 1)])
def test_with_holes_and_blocks_it_is_the_textbooks(seed: int, services: int, block: int, windows: int) -> None:
    seen = made(seed, services, missing=0.15, block=block, windows=windows)
    fit = fit_table(seen)
    alone = [o for o in seen if sum(other.window == o.window for other in seen) == 1]
    kept = [o for o in seen if o not in alone]
    for i, j in combinations(fit.services, 2):
        found = fit.contrast(i, j)
        assert found is not None
        assert (found.estimate, found.error, found.df) == tuple(map(pytest.approx, textbook(kept, i, j)))


def test_services_that_never_met_are_compared_over_others() -> None:
    seen = [*window(1, 1, a=5.0, b=5.1), *window(2, 1, b=9.0, c=9.3)]
    seen += [*window(3, 2, a=1, b=1.2), *window(4, 2, b=2, c=2.1)]
    found = fit_table(seen).contrast("c", "a")
    assert found is not None and found.error is not None
    assert found.estimate == pytest.approx(0.15 + 0.2)
    assert found.error == pytest.approx(np.std([0.4, 0.3], ddof=1) / math.sqrt(2))


def test_what_no_chain_of_windows_connects_is_not_guessed() -> None:
    seen = [w for r in (1, 2, 3) for w in (*window(r, r, a=r, b=r + 0.1 * r, e=r), *window(10 + r, r, c=7, d=7.1 + r))]
    fit = fit_table([*seen, *window(99, 3, lone=4.0)])
    assert fit.components == (("a", "b", "e"), ("c", "d"), ("lone",))
    assert fit.contrast("a", "c") is None and fit.contrast("lone", "a") is None
    within = fit.contrast("b", "a")
    assert within is not None and within.estimate == pytest.approx(0.2)
    assert fit.effects["lone"] == 0
    assert sum(fit.effects[name] for name in "abe") == pytest.approx(0)
    with pytest.raises(KeyError):
        fit.contrast("a", "unknown")


def test_a_difference_that_one_round_tells_has_no_error() -> None:
    seen = [o for o in made(1, 4) if o.service != "s03" or o.round == 2]
    fit = fit_table(seen)
    found, others = fit.contrast("s03", "s00"), fit.contrast("s01", "s00")
    assert found is not None and others is not None
    assert (found.error, found.df) == (None, 0) and math.isfinite(found.estimate)
    assert found.interval(0.95).low == -math.inf
    assert others.error is not None and others.df > 3


def test_without_noise_nothing_is_known() -> None:
    fit = fit_table([o for r in range(5) for o in window(r, r, a=1.0 + r, b=1.5 + r, c=1.2 + r)])
    found = fit.contrast("b", "a")
    assert found is not None and (found.error, found.estimate) == (None, pytest.approx(0.5))


def test_the_noise_of_a_window_does_not_matter() -> None:
    seen = made(3, missing=0.1, windows=2)
    loud = [o._replace(value=o.value + 5 * math.sin(o.window)) for o in seen]
    one, other = fit_table(seen), fit_table(loud)
    assert np.allclose(one.errors, other.errors)
    assert all(one.effects[name] == pytest.approx(other.effects[name]) for name in one.services)


def turned(seed: int, biases: Sequence[float], noise: float = 0.03, rounds: int = 6) -> list[Observation]:
    """Equal services whose values have a bias of turns; the steady part is free of it, but noisier."""
    rng = np.random.default_rng(seed)
    return [
        Observation(number, number, f"s{place:02}", bias + steady + rng.normal(0, noise / 2), steady=steady)
        for number in range(rounds)
        for place, bias in enumerate(biases)
        for steady in [rng.normal(0, noise)]
    ]


def test_the_bias_of_turns_is_taken_out_where_it_exceeds_the_noise_of_its_measurement() -> None:
    biases = [0.3, -0.3, 0.1, -0.1]
    fit = fit_table(turned(1, biases))
    assert [fit.bias[f"s{place:02}"] for place in range(4)] == pytest.approx(biases, abs=0.03)
    assert max(map(abs, fit.effects.values())) < 0.05
    # What is below the noise is hardly believed.
    small = fit_table(turned(1, [0.002, -0.002, 0.001, -0.001])).bias.values()
    assert max(small) - min(small) < 0.03


@pytest.mark.parametrize("services", [2, 8])
@pytest.mark.parametrize("bias", [0.0, 0.01, 0.03, 0.1])
def test_intervals_hold_whatever_the_bias_of_turns_is(services: int, bias: float) -> None:
    rng, false, tables = np.random.default_rng(5), 0, 150
    for seed in range(tables):
        fit = fit_table(turned(seed, rng.normal(0, bias, services).tolist()))
        false += any(abs(own.estimate) > half for own, half in half_widths(fit, 0.95).values())
    # Above 19 of 150, a rate of 5 % has a probability below 0.1 %.
    assert false <= 18, f"{false} of {tables} tables of equal services have a false difference"


def test_the_bias_of_a_service_without_any_steady_part_is_as_uncertain_as_those_of_the_others() -> None:
    seen = turned(3, [0.2, -0.2, 0.1, -0.1])
    fit, known = fit_table([o._replace(steady=None) if o.service == "s03" else o for o in seen]), fit_table(seen)
    assert fit.errors[0, 3] > 0.1 > known.errors[0, 3] and fit.errors[0, 1] < 0.1


def test_a_window_without_a_steady_part_is_corrected_like_the_others_of_its_service() -> None:
    seen = turned(2, [0.3, -0.3, 0.0])
    gaps = [o._replace(steady=None) if o.round == 2 or (o.round == 3 and o.service == "s01") else o for o in seen]
    assert max(map(abs, fit_table(gaps).effects.values())) < 0.06


def test_no_observations_are_an_empty_table() -> None:
    fit = fit_table([])
    assert (fit.services, fit.components, fit.rounds) == ((), (), ())
    alone = fit_table(window(1, 1, a=3.0))
    assert alone.components == (("a",),)
