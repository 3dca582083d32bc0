"""Percentiles of latency: how often equal services are called apart, what is called, and what is not enough."""

from __future__ import annotations

import math

import pytest
from scipy import stats
from simulate_late_sends import CLIENTS, SERVERS, ratios
from simulate_latency import HOSTS, called_pairs, false_tables

from bench.analysis.cells.latency import Distribution, due_percentile
from bench.stats.table_quantiles import differences_of, family_level, merged_interval
from bench.stats.table_verdicts import EQUAL, FASTER, NO_WINNER, SLOWER

LEVEL = family_level(1)
CLEAR = {
    "a": dict(enumerate((0.0050, 0.0052, 0.0049, 0.0051, 0.0050, 0.0051), 2)),
    "b": dict(enumerate((0.0100, 0.0103, 0.0099, 0.0101, 0.0101, 0.0100), 2)),
}
MERGED = {"a": 0.0051, "b": 0.0101}


@pytest.mark.parametrize("rounds, name", [(6, name) for name in HOSTS] + [(8, "calm")])
def test_equal_services_are_rarely_called_apart(rounds: int, name: str) -> None:
    false = false_tables(HOSTS[name], rounds, 40)
    assert stats.binomtest(false, 40, 0.05, alternative="greater").pvalue > 0.01


def test_a_p99_that_is_twice_as_high_is_called() -> None:
    assert called_pairs(HOSTS["calm"], 6, 10, 4.0) > 0.95
    # Stalls of the host affect all services, and hide the difference.
    assert called_pairs(HOSTS["three stalls of 20 ms in every round"], 6, 4, 4.0) < 0.2


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_late_load_never_bounds_a_percentile_too_low(server: str, client: str) -> None:
    found = ratios(server, client, 4)
    # Latencies are saved to three digits.
    assert min(map(min, found.values())) >= 0.995
    # Counted from when requests were sent, a percentile may be below the truth, and would not be a bound.
    if client.startswith("0.3 ms"):
        assert max(map(max, found.values())) < 3


def test_the_bound_counts_from_the_most_punctual_request_and_what_was_not_sent() -> None:
    # All but 1 % were sent 5 ms late, which the median lag hides.
    counts = {1_000_000: 10_000}
    rounds = [Distribution(10_000, counts, counts, 5_000_000, due) for due in (10_000, 10_100, 10_102)]
    assert [due_percentile([one], 0.99, bound=True) for one in rounds] == [0.006, 0.006, None]
    assert [due_percentile([one], 0.99) for one in rounds] == [0.001, 0.001, None]


def test_a_higher_latency_is_slower() -> None:
    found = differences_of(CLEAR, MERGED, LEVEL)
    assert (found["b", "a"].word, found["a", "b"].word) == (SLOWER, FASTER)
    assert math.exp(-found["b", "a"].estimate) == pytest.approx(2, rel=0.01)


def test_less_than_six_rounds_have_no_verdict() -> None:
    five = {name: dict([*own.items()][:5]) for name, own in CLEAR.items()}
    assert differences_of(five, MERGED, LEVEL) == {}
    assert differences_of({"a": CLEAR["a"], "b": five["b"]}, MERGED, LEVEL) == {}


def test_what_the_merged_percentiles_do_not_show_is_not_called() -> None:
    for ratio, word in ((1.2, SLOWER), (1.03, NO_WINNER), (0.5, NO_WINNER)):
        found = differences_of(CLEAR, {"a": 0.005, "b": 0.005 * ratio}, LEVEL)
        assert found["b", "a"].word == word


def test_less_than_what_a_tool_may_be_wrong_by_is_no_difference() -> None:
    alike = {"a": CLEAR["a"], "b": {turn: value * 1.03 for turn, value in CLEAR["a"].items()}}
    alike["b"][3] *= 1.002
    assert differences_of(alike, {"a": 0.005, "b": 0.00515}, LEVEL)["b", "a"].word == EQUAL


def test_interval_is_around_the_merged_value() -> None:
    found = merged_interval(0.0051, CLEAR["a"].values(), 0.95)
    assert found is not None and found.low < 0.0051 < found.high
    narrow = merged_interval(0.0051, CLEAR["a"].values(), 0.5)
    assert narrow is not None and found.low < narrow.low < narrow.high < found.high
    assert merged_interval(0.0051, [0.005, 0.005, 0.005], 0.95) is None
    assert merged_interval(0.0051, [0.005, 0.006], 0.95) is None


def test_percentiles_of_a_table_share_its_errors() -> None:
    assert [family_level(count) for count in (0, 1, 2)] == [0.95, 0.95, 0.975]
