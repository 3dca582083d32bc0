"""Verdicts: each rule with what calls it up and what just does not, and how often they are wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from simulate_verdicts import NO_LIMITS, Tally, normal, simulate, wild

from bench.analysis.comparison import (
    DELTA,
    LEAST_DIFFERENCE,
    Comparison,
    Metric,
    PairWindow,
    Side,
    Thresholds,
    comparison,
    thresholds_of,
)
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER, verdicts, winner
from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import CONFIDENCE, Estimate


def rounds(percent: float, n: int, spread: float = 0.01, seed: int = 0) -> tuple[float, ...]:
    """Values with exactly this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return tuple((math.copysign(math.log1p(abs(percent) / 100), percent) + spread * values).tolist())


def pair(values: tuple[float, ...], a: str = "A", b: str = "B", cause: str | None = None) -> Comparison:
    return Comparison(a=a, b=b, metric=Metric.CPU, values=values, cause=cause)


def word(*tables: Comparison, ended: bool = False) -> str:
    return verdicts(tables, ended=ended)[0].word


# One pair


@pytest.mark.parametrize(
    "percent, n, spread, expected",
    [
        (8.8, 16, 0.02, FASTER),
        (-8.8, 16, 0.02, SLOWER),
        (2.01, 30, 0.001, FASTER),
        (-2.01, 30, 0.001, SLOWER),
        (1.99, 30, 0.001, NO_DIFFERENCE),
        (0.0, 8, 0.02, NO_DIFFERENCE),
        (1.99, 30, 0.02, NO_DIFFERENCE),
        (1.99, 16, 0.02, NOT_ENOUGH),
        (0.0, 8, 0.03, NOT_ENOUGH),
        (8.8, 8, 0.1, NOT_ENOUGH),
    ],
)
def test_words(percent: float, n: int, spread: float, expected: str) -> None:
    assert word(pair(rounds(percent, n, spread))) == expected


def test_a_verdict_reads_as_in_the_tables() -> None:
    (found,) = verdicts([pair(rounds(8.8, 16, 0.024))])
    low, high = (100 * math.expm1(d) for d in (found.interval.low, found.interval.high))
    assert found.words() == f"faster 8.8 % ({low:.1f} to {high:.1f} %, 16 rounds)"
    (turned,) = verdicts([pair(tuple(-value for value in rounds(8.8, 16, 0.024)))])
    assert turned.words() == "slower 8.8 % (7.1 to 10.6 %, 16 rounds)"


def test_a_verdict_without_direction_has_signs() -> None:
    assert verdicts([pair(rounds(-0.001, 16))])[0].words() == "no difference shown +0.0 % (-0.7 to +0.7 %, 16 rounds)"
    assert verdicts([pair(rounds(-5, 8, 0.1))])[0].words() == "not enough data -5.0 % (-17.3 to +6.4 %, 8 rounds)"


def test_before_the_first_look_nothing_is_said() -> None:
    (found,) = verdicts([pair(rounds(50, 7))], ended=True)
    assert (found.word, found.estimate, found.interval, found.p) == (NOT_ENOUGH, None, None, 1.0)
    assert found.words() == "not enough data (7 rounds of 8)"
    assert not found.decided
    assert verdicts([pair(())])[0].words() == "not enough data (0 rounds of 8)"


def test_between_looks_the_later_rounds_wait() -> None:
    values = rounds(8.8, 8, 0.02)
    (first,), (later,) = verdicts([pair(values)]), verdicts([pair((*values, *[-9.0] * 7))])
    assert later.estimate == first.estimate and later.word == FASTER
    assert later.rounds == 15
    assert word(pair((*values, *[-9.0] * 8))) == SLOWER


def test_at_the_end_an_open_pair_is_looked_at_with_all_that_it_has() -> None:
    values = (*rounds(4, 8, 0.05), *rounds(4, 5, 0.001))
    assert word(pair(values)) == NOT_ENOUGH
    (found,) = verdicts([pair(values)], ended=True)
    assert (found.word, found.estimate and found.estimate.n) == (FASTER, 13)


def test_at_the_end_a_settled_pair_keeps_its_verdict() -> None:
    values = (*rounds(4, 8, 0.01), *[-1.0] * 3)
    (found,) = verdicts([pair(values)], ended=True)
    assert (found.word, found.estimate and found.estimate.n) == (FASTER, 8)


def test_after_the_last_look_a_pair_is_settled_without_a_verdict() -> None:
    values = rounds(2.5, 30, 0.1)
    (found,) = verdicts([pair((*values, 0.0, 0.0))])
    assert found.word == NOT_ENOUGH and found.decided
    assert found.estimate == Estimate(values)
    assert not verdicts([pair(values[:29])])[0].decided


@pytest.mark.parametrize("n", [8, 16, 30])
def test_a_pair_alone_gets_its_verdict_at_a_look(n: int) -> None:
    values = rounds(8.8, n, 0.02)
    (found,) = verdicts([pair(values)])
    assert found.decided and found.word == FASTER
    assert found.interval == Estimate(values).interval(CONFIDENCE)
    assert verdicts([pair(values[: n - 1])])[0].decided == (n > LOOKS[0])


@pytest.mark.parametrize("values", [(), rounds(8.8, 7), rounds(3, 8, 0.05)])
def test_a_pair_without_a_verdict_is_measured_on(values: tuple[float, ...]) -> None:
    assert not verdicts([pair(values)])[0].decided


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_copies_of_a_round_are_no_data(value: float) -> None:
    (found,) = verdicts([pair((value,) * 30)])
    assert (found.word, found.reason) == (NOT_ENOUGH, "the rounds are copies of each other")
    assert found.words() == "not enough data (30 rounds)"


def test_the_gate_has_the_last_word() -> None:
    (found,) = verdicts([pair(rounds(8.8, 16), cause="loadgen-bound")])
    assert found.word == found.words() == "invalid: loadgen-bound"
    assert found.decided and found.p == 1.0
    assert word(pair((), cause="errors")) == "invalid: errors"


def test_wild_rounds_are_told() -> None:
    (found,) = verdicts([pair((*rounds(5, 15, 0.001), 4.0))])
    assert found.word == NOT_ENOUGH
    assert found.flags == ("a few rounds stand far out: Hodges-Lehmann says +5.0 %",)
    assert not verdicts([pair((*rounds(5, 15, 0.001), 0.3))])[0].flags


# The limits of a run


def test_the_floor_of_the_a_a_pairs_moves_both_limits() -> None:
    quiet, loud = Estimate(rounds(0.5, 16)), Estimate(rounds(-4, 16))
    assert thresholds_of([]) == thresholds_of([quiet]) == Thresholds(LEAST_DIFFERENCE, DELTA)
    assert thresholds_of([quiet, loud]) == Thresholds(pytest.approx(math.log(1.04)), pytest.approx(math.log(1.04)))
    assert thresholds_of([Estimate(rounds(2.5, 8))]) == Thresholds(pytest.approx(math.log(1.025)), DELTA)


def test_a_floor_before_the_first_look_is_none() -> None:
    assert thresholds_of([Estimate(rounds(-4, 7))]) == Thresholds()


def test_what_the_run_shows_of_identical_services_is_no_difference() -> None:
    values = rounds(3.5, 16, 0.001)
    assert word(pair(values)) == FASTER
    loud = replace(pair(values), limits=thresholds_of([Estimate(rounds(4, 16))]))
    assert word(loud) == NO_DIFFERENCE


# A table


def test_a_table_is_corrected_as_scipy_does() -> None:
    rng = np.random.default_rng(5)
    table = [pair(tuple(rng.normal(0.015 * (i % 3), 0.03, 16).tolist())) for i in range(30)]
    table = [replace(row, limits=NO_LIMITS) for row in table]
    found = verdicts(table)
    p = [min(1, 3 * stats.ttest_1samp(row.values, 0).pvalue) for row in table]
    adjusted = stats.false_discovery_control(p)
    assert [verdict.adjusted_p for verdict in found] == pytest.approx(adjusted.tolist())
    different = [verdict.word in (FASTER, SLOWER) for verdict in found]
    assert different == (adjusted <= 0.05).tolist()
    assert 0 < sum(different) < 30
    # The interval excludes 0 for exactly those that are rejected.
    assert [verdict.interval is not None and verdict.interval.sign != 0 for verdict in found] == different
    for verdict in found:
        share = (sum(different) + (verdict.word == NOT_ENOUGH)) / 30
        assert verdict.interval is not None
        assert verdict.interval.confidence == pytest.approx(1 - 0.05 * share / 3)


def test_company_makes_a_verdict_harder_and_good_company_easier() -> None:
    weak, nothing, strong = rounds(4, 8, 0.033), rounds(0, 8, 0.05), rounds(30, 8, 0.01)
    assert word(pair(weak)) == FASTER
    assert word(pair(weak), *[pair(nothing)] * 9) == NOT_ENOUGH
    assert word(pair(weak), *[pair(strong)] * 9) == FASTER


def test_invalid_and_unmeasured_pairs_count_in_the_table() -> None:
    weak = pair(rounds(4, 8, 0.033))
    assert word(weak, *[pair((), cause="errors")] * 9) == NOT_ENOUGH
    assert word(weak, *[pair(())] * 9) == NOT_ENOUGH


def test_small_differences_do_not_help_others_to_a_verdict() -> None:
    weak, small = pair(rounds(4, 8, 0.033)), pair(rounds(1, 8, 0.0001))
    assert word(weak, *[small] * 9) == NOT_ENOUGH
    assert verdicts([small])[0].p == 1.0


def test_no_difference_does_not_depend_on_its_table() -> None:
    same = rounds(0, 8, 0.02)
    alone, *_ = verdicts([pair(same)])
    among, *_ = verdicts([pair(same), *[pair(rounds(0, 8, 0.05))] * 20])
    assert alone.word == among.word == NO_DIFFERENCE
    assert alone.interval == among.interval


def test_a_table_without_pairs() -> None:
    assert verdicts([]) == ()


# Two judges


def judged(cpu: float, goodput: float, share: float, n: int = 16) -> Comparison:
    return replace(
        pair(rounds(cpu, n)), goodput=rounds(goodput, n, 0.01, 1), shares=tuple(share + value for value in rounds(0, n))
    )


def test_judges_that_contradict_each_other_show_nothing() -> None:
    (found,) = verdicts([judged(4, -4, 0.029)])
    assert (found.word, found.p) == (NOT_ENOUGH, 1.0)
    assert found.reason == "goodput says -4.0 %, CPU per request +4.0 %"
    assert not found.decided


def test_goodput_is_not_asked_where_the_cpu_was_not_shared_alike() -> None:
    (found,) = verdicts([judged(4, -4, -0.031)])
    assert found.word == FASTER
    assert found.flags == ("goodput does not judge: B's CPU time to A's is -3.1 %",)


@pytest.mark.parametrize("goodput", [4, 0, -0.3])
def test_goodput_that_shows_nothing_does_not_contradict(goodput: float) -> None:
    (found,) = verdicts([judged(4, goodput, 0.0)])
    assert (found.word, found.flags) == (FASTER, ())


def test_goodput_alone_shows_nothing_of_a_cpu_bound_pair() -> None:
    assert word(judged(0, 8, 0.0)) == NO_DIFFERENCE


# From windows to values


def window(
    good: tuple[int, int], cpu: tuple[float | None, float | None] = (1.0, 1.0), seconds: float = 1.0
) -> PairWindow:
    return Side(good[0], seconds, cpu[0]), Side(good[1], seconds, cpu[1])


def test_a_round_is_the_sum_of_its_windows() -> None:
    found = comparison("a", "b", [[window((2000, 2500)), window((3000, 3000), (1.0, 1.1))]], cpu_bound=True)
    assert found.values == (pytest.approx(math.log(5500 / 2.1) - math.log(5000 / 2.0)),)
    assert found.goodput == (pytest.approx(math.log(5500 / 5000)),)
    assert found.shares == (pytest.approx(math.log(2.1 / 2.0)),)
    assert (found.a, found.b, found.metric, found.flags) == ("a", "b", Metric.CPU, ())


def test_goodput_is_cpu_per_request_and_share() -> None:
    found = comparison("a", "b", [[window((2000, 2500), (0.9, 1.2))]], cpu_bound=True)
    assert found.goodput[0] == pytest.approx(found.values[0] + found.shares[0])


def test_goodput_judges_where_servers_wait() -> None:
    found = comparison("a", "b", [[window((2000, 2500), (None, None))]], cpu_bound=False)
    assert found.values == (pytest.approx(math.log(1.25)),)
    assert (found.metric, found.goodput, found.shares) == (Metric.GOODPUT, (), ())


@pytest.mark.parametrize(
    "good, cpu, counts",
    [
        ((1000, 1000), (0.1, 0.1), True),
        ((1000, 999), (0.1, 0.1), False),
        ((999, 5000), (0.1, 0.1), False),
        ((10, 10), (0.5, 0.5), True),
        ((10, 10), (0.5, 0.49), False),
        ((1000, 10), (0.1, 0.5), True),
    ],
)
def test_a_window_needs_enough_in_it(good: tuple[int, int], cpu: tuple[float, float], counts: bool) -> None:
    found = comparison("a", "b", [[window(good, cpu)]] * 2, cpu_bound=True)
    assert len(found.values) == (2 if counts else 0)
    assert found.flags == (() if counts else ("2 rounds with too few answers",))


def test_a_round_keeps_the_window_that_has_enough() -> None:
    found = comparison("a", "b", [[window((2000, 2500)), window((999, 5000), (0.1, 0.1))]], cpu_bound=False)
    assert found.values == (pytest.approx(math.log(1.25)),)
    assert found.flags == ()


@pytest.mark.parametrize(
    "bad, cpu_bound",
    [
        (window((0, 2000), (1.0, 1.0)), True),
        (window((0, 2000), (1.0, 1.0)), False),
        (window((2000, 2000), (None, 1.0)), True),
        (window((2000, 2000), (0.0, 1.0)), True),
        (window((2000, 2000), (1.0, 1.0), 0.0), False),
    ],
)
def test_a_round_of_nothing_is_left_out_and_told(bad: PairWindow, cpu_bound: bool) -> None:
    found = comparison("a", "b", [[bad], [window((2000, 2000))], []], cpu_bound=cpu_bound)
    assert found.values == (0.0,)
    assert found.flags == ("1 round with too few answers", f"1 round without {found.metric}")
    assert verdicts([found])[0].flags == found.flags


def test_the_limits_are_those_of_the_judge() -> None:
    limits = {Metric.GOODPUT: Thresholds(0.1, 0.1)}
    assert comparison("a", "b", [], cpu_bound=False, limits=limits).limits == Thresholds(0.1, 0.1)
    assert comparison("a", "b", [], cpu_bound=True, limits=limits).limits == Thresholds()


# The winner


def ranking(*edges: tuple[str, str, float], spread: float = 0.01) -> list[Comparison]:
    """B is so many percent above A."""
    return [pair(rounds(percent, 16, spread, seed), a, b) for seed, (a, b, percent) in enumerate(edges)]


def won(table: list[Comparison]) -> tuple[str | None, tuple[str, ...]]:
    found = winner(table, verdicts(table))
    return found.service, found.rivals


def test_who_beats_all_wins() -> None:
    assert won(ranking(("x", "y", 10), ("x", "z", -5), ("y", "z", -15))) == ("y", ())
    assert won(ranking(("base", "x", -5), ("base", "y", -8))) == ("base", ())


def test_who_beats_one_beats_those_that_it_beats() -> None:
    assert won(ranking(("x", "y", 10), ("x", "z", -5))) == ("y", ())


def test_two_that_were_not_compared_have_no_winner() -> None:
    assert won(ranking(("base", "x", 10), ("base", "y", 20))) == (None, ("x", "y"))


def test_what_is_below_2_percent_is_not_won() -> None:
    assert won(ranking(("x", "y", 1.9), spread=0.0001)) == (None, ("x", "y"))


def test_who_has_no_valid_pair_is_not_ranked() -> None:
    table = [*ranking(("x", "y", 10)), pair((), "x", "z", "errors")]
    assert won(table) == ("y", ())
    assert won([pair((), "x", "z", "errors")]) == (None, ())
    assert won([]) == (None, ())


def test_a_winner_is_held_to_holm() -> None:
    # Benjamini-Hochberg rejects them all; Holm needs p <= 0.05 / 3, then 0.05 / 2, then 0.05.
    def exact(p: float, a: str, b: str) -> Comparison:
        spread = math.log(1.1) * math.sqrt(16) / stats.t.isf(p / 3 / 2, 15)
        return pair(rounds(10, 16, spread), a, b)

    table = [exact(0.012, "x", "w"), exact(0.02, "y", "w"), exact(0.03, "z", "w")]
    assert [verdict.word for verdict in verdicts(table)] == [FASTER] * 3
    assert won(table) == ("w", ())
    table[1] = exact(0.026, "y", "w")
    assert [verdict.word for verdict in verdicts(table)] == [FASTER] * 3
    assert won(table) == (None, ("w", "y", "z"))


# How often they are wrong: a few of the lines of simulate_verdicts.py


def plausibly_below(most: float, hits: int, of: int) -> bool:
    return bool(stats.binomtest(hits, of, most, alternative="greater").pvalue > 0.01)


def differences(tally: Tally) -> int:
    return tally.words.get(FASTER, 0) + tally.words.get(SLOWER, 0)


@pytest.mark.parametrize("noise", [normal, wild])
def test_three_looks_at_nothing_find_it_in_5_percent_at_most(noise) -> None:
    tally = simulate(600, [0.0], 0.024, NO_LIMITS, noise=noise)
    assert plausibly_below(0.05, differences(tally), tally.pairs)
    assert differences(tally) > 0


def test_identical_services_are_rarely_called_different() -> None:
    tally = simulate(300, [0.0], 0.024)
    assert tally.share(NO_DIFFERENCE) > 0.95
    assert plausibly_below(0.01, differences(tally), tally.pairs)


def test_intervals_at_the_stop_hold_the_truth() -> None:
    tally = simulate(400, [math.log(1.03)], 0.05, NO_LIMITS)
    assert plausibly_below(0.05, tally.shown - tally.covered, tally.shown)


def test_a_slowdown_is_found() -> None:
    tally = simulate(150, [-math.log(1.03)], 0.024)
    assert tally.words[SLOWER] >= 0.9 * tally.pairs
    assert abs(np.mean(tally.excess)) < 0.3


def test_a_difference_of_delta_is_rarely_denied() -> None:
    tally = simulate(300, [DELTA], 0.012, Thresholds(1.0, DELTA))
    assert plausibly_below(0.025, tally.denied, tally.different)


def test_a_table_has_few_false_differences_and_loses_no_verdict() -> None:
    truths = [0.0] * 15 + [math.log(1 + percent / 100) for percent in (2.5, 3, 4, 6, 10)]
    tally = simulate(60, truths, 0.024, NO_LIMITS)
    assert np.mean(tally.false) < 0.05 and np.mean(tally.missed) < 0.05
    assert tally.lost == 0 and tally.found > 0
