"""Whether services lose different shares of their requests: how often there is a false difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter
from simulate_events import each_time, false_share, is_called, services
from simulate_events import heap as filling

from bench.stats.estimates import ERRORS
from bench.stats.event_counts import (
    GROWS,
    LEAST_S,
    NEGLIGIBLE,
    NOT_ENOUGH,
    STEADY,
    TOO_SHORT,
    Counts,
    corrected,
    p_differ,
    rounds_needed,
    slope,
    unseen_one_in,
)

TABLES = 120
BURSTS = ["half lose 5 each time, half 50 in one of ten", "one loses 60 in one of six, others 10 each time"]
BURSTS += ["one loses 60 in one of three, others 20 each time", "one loses 60 in one of two, others 30 each time"]


ANY = [*BURSTS, "all in clusters", "all lose 1 at random", "all lose 4 in one of twenty"]
OF_ONE_SERVER = ["all in clusters", "all lose 1 at random", "all lose 1 to 3"]


@pytest.mark.parametrize("name, alike", [*((name, False) for name in ANY), *((name, True) for name in OF_ONE_SERVER)])
@pytest.mark.parametrize(("count", "rounds"), [(2, 3), (8, 3), (2, 8), (2, 12), (8, 12)])
def test_equal_services_are_rarely_called_apart(name: str, alike: bool, count: int, rounds: int) -> None:
    """Also if they are known to be releases of one server."""
    false = round(false_share(TABLES, name, count, rounds, alike=alike) * TABLES)
    assert stats.binomtest(false, TABLES, ERRORS, alternative="greater").pvalue > 0.01


def test_bursts_beyond_what_is_presumed_are_not_told_from_regular_losses() -> None:
    """The limit of any test of three rounds: 133 each time and 400 in one of three look alike in most runs."""
    name = "beyond what is presumed: one loses 400 in one of three, others 133"
    assert false_share(TABLES, name, 2, 3) > 0.2
    assert [unseen_one_in(rounds) for rounds in (3, 6, 10)] == [5, 9, 15]


def test_twenty_five_of_195_each_time_are_called_where_all_others_lose_nothing() -> None:
    uwsgi: Counts = ((25, 195), (25, 196), (25, 190))
    others: list[Counts] = [((0, 1000),) * 3] * 6
    assert is_called([[uwsgi, *others]])
    # Also among many other events, in which services lose something.
    random = np.random.default_rng(4)
    table = [[uwsgi, *others], *(services(random, [each_time(3)] * 8, 3) for _ in range(8))]
    assert is_called(table) and not is_called(table[1:])
    # Small losses need more rounds: a burst of the others may take as many, and not have shown.
    small: Counts = ((10, 1000),) * 3
    assert not is_called([[small, *others[:1]]]) and rounds_needed(small, others[0], 1) == 16
    assert rounds_needed(((2, 1000),) * 3, others[0], 1) is None


def test_two_releases_of_one_server_need_fewer_rounds() -> None:
    """Both are presumed to have bursts of the same size."""
    one, other = ((1, 700),) * 7 + ((0, 700),) * 5, ((0, 700),) * 12
    assert p_differ(one, other, alike=True) == pytest.approx(2 / 2**7)
    assert p_differ(one, other) > 0.5


def test_a_large_difference_is_called_after_three_rounds_among_hundreds() -> None:
    random = np.random.default_rng(5)

    def row(large: bool) -> list[Counts]:
        # One loses two thirds, as if it ended, the others few or none, in small clusters.
        shares = [0.65 if large else 0.004, 0.004, 0.003, 0.002, 0.002, 0.001, 0.0, 0.0]
        return [tuple((min(700, 3 * int(random.poisson(700 * one / 3))), 700) for _ in range(3)) for one in shares]

    rows = [row(large=not number) for number in range(12)]
    found, tests = corrected([(a, b, False) for one in rows for a, b in combinations(one, 2)])
    assert tests > 250
    # Each of the others differs from the one that is far worse; pairs with small differences do not.
    assert [place for place, p in enumerate(found) if p <= ERRORS] == [*range(7)]


def test_rounds_of_one_service_that_differ_much_speak_against_it_alone() -> None:
    none: Counts = ((0, 1000),) * 3
    steady, erratic = ((300, 1000), (310, 1000), (305, 1000)), ((915, 1000), (0, 1000), (0, 1000))
    assert p_differ(steady, none) < 0.001
    assert p_differ(erratic, none) > ERRORS
    assert p_differ(erratic, steady) == 1.0
    # Two rounds give no verdict, however clear.
    assert p_differ(steady[:2], none[:2]) == 1.0


def test_nothing_is_called_from_one_round_and_equal_shares_need_no_more() -> None:
    assert p_differ(((1000, 1000),), ((0, 1000),)) == p_differ(((1000, 1000),), ((0, 1000),) * 40) == 1.0
    assert rounds_needed(((2, 1000),) * 3, ((4, 2000),) * 3, 1) is None
    assert rounds_needed((), ((0, 1000),), 1) is None
    # How many rounds are needed is said after the first one, too.
    assert rounds_needed(((500, 1000),), ((0, 1000),), 1) == 3
    assert corrected([]) == ([], 0)
    none, some = ((0, 1000),) * 3, ((2, 1000),) * 3
    # Two services that lose nothing are not tested, and do not count in the correction for multiple tests.
    assert corrected([(none, none, False), (some, none, False), (none, some, False)]) == ([1.0, 1.0, 1.0], 2)


def test_the_test_is_the_exact_one_of_two_totals_where_losses_are_single() -> None:
    a, b = ((1, 1000),) * 9 + ((0, 1000),) * 3, ((1, 2000),) * 2 + ((0, 2000),) * 10
    tail = stats.binom.sf(8, 11, 1 / 3)
    assert p_differ(a, b, alike=True) == p_differ(b, a, alike=True) == pytest.approx(2 * tail)


def samples(step: Callable[[int], float], parts: int = 10) -> list[tuple[float, float]]:
    return [(100_000 * part, 50e6 + step(part)) for part in range(parts + 1)]


def test_a_leak_grows_by_what_it_leaks_and_a_steady_service_does_not() -> None:
    leak = slope([samples(lambda part: 100_000 * part * 64)])
    assert (leak.word, leak.mean) == (GROWS, pytest.approx(64))
    assert slope([samples(lambda part: 0)]).word == STEADY
    # A heap that fills at the start and then stays constant does not grow.
    assert slope([samples(lambda part: min(part, 2) * 30e6)]).word == STEADY
    # A single jump is not a slope, and five samples are too few for one.
    assert slope([samples(lambda part: 40e6 * (part > 6))]).word == NOT_ENOUGH
    assert slope([samples(lambda part: 100_000 * part * 64, parts=4)]).word == NOT_ENOUGH


def test_a_heap_that_wanders_is_rarely_said_to_grow() -> None:
    random = np.random.default_rng(4)
    walks = [np.cumsum(random.normal(0, 4e6, 11)) for _ in range(400)]
    grows = sum(slope([samples(lambda part, walk=walk: float(walk[part]))]).word == GROWS for walk in walks)
    assert stats.binomtest(grows, len(walks), 0.025, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("rate", [600, 6000])
def test_a_heap_that_fills_in_three_seconds_is_not_said_to_grow(rate: int) -> None:
    random = np.random.default_rng(rate)

    def words(seconds: float, *, known: bool = True, **what: float) -> list[str]:
        made = ([filling(random, rate * seconds, seconds, **what)] for _ in range(60))
        return [slope(one, NEGLIGIBLE, seconds if known else None).word for one in made]

    assert words(10, known=False, fills=30e6).count(GROWS) > 54
    assert {*words(10, fills=30e6)} <= {TOO_SHORT, NOT_ENOUGH}
    # After minutes it is steady, and a leak grows, if there are enough requests.
    longer = max(LEAST_S, 10 * 25_000 / rate)
    assert words(longer, fills=30e6).count(STEADY) > 54
    assert {*words(longer, leak=100)} == {GROWS} and {*words(longer / 2, leak=100)} == {TOO_SHORT}


def heap(random: np.random.Generator, requests: float, leak: float = 0.0) -> list[tuple[float, float]]:
    """Medians of ten parts of a service that leaks `leak` bytes per request, plus a heap's normal noise.

    Noise: a saw-tooth of garbage collection of 2 MB, whose period does not match the parts; arenas of 1 MB, in Poisson
    numbers that halve from part to part; and pages of 4 KB that come and go, about 200 KB.
    """
    parts, period, phase = np.arange(10)[:, None], random.uniform(0.03, 0.6), random.uniform()
    at = parts + (np.arange(15) + random.uniform(size=(10, 15))) / 15
    wanders = lfilter([1.0], [1.0, -0.9], random.normal(0, 90e3, 150)).reshape(10, 15)
    size = 40e6 + 1e6 * random.poisson(4 * 0.5**parts).cumsum(axis=0) + 2e6 * ((at / period + phase) % 1)
    seen = size + np.round(wanders / 4096) * 4096 + leak * requests * at / 10
    return [(requests * (part + 0.5) / 10, float(held)) for part, held in enumerate(np.median(seen, axis=1))]


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("requests", [50_000, 250_000, 1_000_000])
def test_noise_of_a_heap_does_not_pass_for_growth(requests: int, rounds: int) -> None:
    random = np.random.default_rng(requests + rounds)
    found = [slope([heap(random, requests) for _ in range(rounds)]).word for _ in range(400)]
    assert stats.binomtest(found.count(GROWS), len(found), 0.05, alternative="greater").pvalue > 0.01
    # With fewer requests, the interval is wider than the negligible slope, and the word says so.
    assert requests < 1_000_000 or found.count(STEADY) > 0.95 * len(found)


def test_a_leak_in_the_noise_is_found() -> None:
    random = np.random.default_rng(7)
    found = [slope([heap(random, 1_000_000, leak=100)]) for _ in range(200)]
    assert sum(one.word == GROWS for one in found) > 0.95 * len(found)
    assert sum((one.low or 0) <= 100 <= (one.high or 0) for one in found) > 0.9 * len(found)
