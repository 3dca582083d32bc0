"""A table of pairs: the correction for many pairs, and the winner."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from simulate_verdicts import NO_LIMITS
from verdict_values import pair, rounds, word

from bench.analysis.comparison import Comparison
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER, verdicts, winner


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
