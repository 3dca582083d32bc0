"""Differences between two runs: each rule just met and just not met, and how often verdicts are wrong."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from math import log

import numpy as np
import pytest
from rated_tables import rated
from simulate_runs import NULL, compared, key, made_up, sample

from bench.analysis.runs.differences import (
    CORE_IN_TURNS,
    DIFFERS,
    LEAST_ROUNDS,
    P50,
    P99,
    SPEED,
    CellDifference,
    Samples,
    Welch,
    run_differences,
    samples_of,
)
from bench.analysis.runs.trends import trends_of
from bench.records.outcome import NOT_RUN
from bench.records.record import Cause
from bench.stats.table_verdicts import MARGIN

TEN = log(1.1)


def rounds(level: float, n: int = 10, spread: float = 0.01, seed: int = 0) -> tuple[float, ...]:
    """Values with exactly this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return tuple((level + spread * values).tolist())


def a_run(
    level: float = 0.0, null: float | None = 0.0, *, name: str = "run", seed: int = 0, **facts: object
) -> Samples:
    cells = {key(1): replace(sample(rounds(level, seed=seed)), **facts)}  # type: ignore[arg-type]
    nulls = {} if null is None else {NULL: sample(rounds(null, seed=seed + 1))}
    return Samples(name=name, cells=cells, null=nulls)


def one_row(one: Samples, other: Samples) -> CellDifference:
    (row,) = run_differences(one, other)
    return row


def test_a_change_beyond_the_margin_differs_with_its_interval() -> None:
    row = one_row(a_run(), a_run(TEN, seed=7))
    assert (row.word, row.reason) == (DIFFERS, "")
    assert row.ratio == pytest.approx(1.1)
    assert row.low is not None and row.high is not None and row.margin is not None
    assert 1 + row.margin < row.low < 1.1 < row.high
    assert row.before.value == pytest.approx(1.0) and row.after.value == pytest.approx(1.1)
    assert row.before.low is not None and row.before.low < 1 < (row.before.high or 0)


def test_exchanging_the_runs_only_turns_the_sign() -> None:
    one, other = a_run(), a_run(0.05, seed=7)
    there, back = one_row(one, other), one_row(other, one)
    assert there.word == back.word
    assert there.p == pytest.approx(back.p)
    assert there.ratio == pytest.approx(1 / (back.ratio or 0)) and there.low == pytest.approx(1 / (back.high or 0))


@pytest.mark.parametrize("change", [0.0, 0.01, -0.01])
def test_an_interval_within_3_percent_is_no_difference(change: float) -> None:
    assert one_row(a_run(), a_run(change, seed=7)).word == "no difference shown"


def test_what_reaches_into_the_margin_is_not_enough() -> None:
    row = one_row(a_run(), a_run(0.036, seed=7))
    assert row.word == "not enough data"
    assert row.reason == "the interval is not beyond 3.0 %"
    assert row.p > 0.05


def test_a_host_that_moved_is_not_compared() -> None:
    row = one_row(a_run(), a_run(TEN, null=TEN, seed=7))
    assert row.word == "not comparable: host"
    assert row.reason.startswith("the null server (json wrk c64) +10.0 % (")
    assert (row.ratio, row.low, row.p) == (None, None, 1.0)
    assert row.before.value is not None and row.after.value is not None


def test_what_the_null_server_leaves_to_the_host_is_no_change_of_the_cell() -> None:
    """It changed by less than 3 %; its interval says how much of a change may come from the host."""
    wide = {NULL: sample(rounds(0.01, spread=0.12, seed=3))}
    row = one_row(a_run(), replace(a_run(TEN, seed=7), null=wide))
    assert row.margin is not None and row.margin > 0.05
    assert row.word == "not enough data"
    assert "that the host may have caused" in row.reason
    assert row.null_ratio == pytest.approx(math.exp(0.01))


@pytest.mark.parametrize("which", [0, 1])
def test_without_a_null_server_in_both_there_is_no_verdict(which: int) -> None:
    runs = [a_run(), a_run(2.0, seed=7)]
    runs[which] = replace(runs[which], null={})
    row = one_row(*runs)
    assert (row.word, row.margin) == ("not enough data", None)
    assert row.reason.startswith("no null server in both runs")
    assert row.ratio == pytest.approx(math.exp(2))


def test_another_tools_null_server_is_a_guard_where_the_own_has_none() -> None:
    other_tool = replace(NULL, tool="hey")
    one, other = (replace(run, null={other_tool: run.null[NULL]}) for run in (a_run(), a_run(TEN, seed=7)))
    assert one_row(one, other).word == DIFFERS
    moved = replace(other, null=other.null | {NULL: sample(rounds(TEN))})
    assert one_row(replace(one, null=one.null | {NULL: sample(rounds(0.0))}), moved).word == "not comparable: host"


@pytest.mark.parametrize("few", [1, 2, LEAST_ROUNDS - 1])
def test_too_few_rounds_have_a_ratio_and_no_verdict(few: int) -> None:
    other = replace(a_run(seed=7), cells={key(1): sample(rounds(1.0, n=max(2, few), seed=7)[:few])})
    row = one_row(a_run(), other)
    assert row.word == "not enough data"
    assert row.reason == f"{few} of the {LEAST_ROUNDS} valid rounds that each run needs"
    assert row.ratio is not None and (row.low is None) == (few == 1)


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"values": (), "cause": "errors"}, "invalid: errors"),
        ({"refused": 11, "planned": 21, "cause": "server"}, "invalid: server"),
    ],
)
def test_an_invalid_cell_is_shown_with_its_cause_and_never_compared(facts: dict[str, object], word: str) -> None:
    for runs in ((a_run(), a_run(TEN, seed=7, **facts)), (a_run(TEN, seed=7, **facts), a_run())):
        row = one_row(*runs)
        assert (row.word, row.ratio, row.p) == (word, None, 1.0)
        assert word.endswith(runs[0].cells[key(1)].cause or row.after.cause)


def test_rounds_that_are_not_valid_are_counted_if_enough_are_left() -> None:
    row = one_row(a_run(), a_run(TEN, seed=7, refused=2, planned=12, cause="errors"))
    assert (row.word, row.after.rounds, row.after.planned, row.after.cause) == (DIFFERS, 10, 12, "errors")


def test_a_service_limited_by_the_target_rate_has_no_verdict() -> None:
    row = one_row(a_run(), a_run(TEN, seed=7, held=True))
    assert (row.word, row.reason) == ("not enough data", "limited by the target rate")


def test_identical_rounds_have_no_verdict() -> None:
    row = one_row(a_run(values=(0.0,) * 10), a_run(seed=7, values=(0.5,) * 10))
    assert (row.word, row.reason, row.low) == ("not enough data", "all rounds are identical", None)


def test_incompatible_runs_have_no_ratio() -> None:
    rows = run_differences(a_run(), a_run(TEN, seed=7), "harness, host cpu")
    assert [(row.word, row.ratio) for row in rows] == [("not comparable: harness, host cpu", None)]


def test_what_only_one_run_has_is_no_row() -> None:
    assert run_differences(a_run(), replace(a_run(), cells={key(2): sample(rounds(0.0))})) == []


def test_a_line_of_json_has_every_field_and_no_nan() -> None:
    wild = replace(a_run(seed=7), cells={key(1): sample([800.0])})
    for other in (a_run(TEN, seed=7), wild, a_run(values=())):
        row = one_row(a_run(), other)
        line = json.loads(row.to_json(), parse_constant=pytest.fail)
        assert [*line] == ["schema", *(field.name for field in fields(CellDifference))]
        assert line["before"]["rounds"] == row.before.rounds and line["word"] == row.word


def test_the_whole_table_is_corrected() -> None:
    """A difference that would be significant alone is not if it is one of many tests."""
    one, other = a_run(), a_run(0.046, seed=7)
    assert one_row(one, other).word == DIFFERS
    noise = {key(n): sample(rounds(0.0, seed=n)) for n in range(2, 40)}
    rows = run_differences(replace(one, cells=one.cells | noise), replace(other, cells=other.cells | noise))
    assert rows[0].word == "not enough data" and rows[0].p < 0.05 < rows[0].adjusted_p


# Services of a table

SERVICES = range(4)
IMAGES = {key(number).service: f"sha256:{number}" for number in SERVICES}


def a_table(
    *levels: float, figure: str = SPEED, host: float = 0.0, seed: int = 0, n: int = 6, **facts: object
) -> Samples:
    """A run of a table: `host` moves all of it, and each round has 10 % of noise of its own."""
    common = host + 0.1 * np.random.default_rng(100 + seed).normal(size=n)
    cells = {
        key(number, figure): sample(
            common + rounds(level, n, seed=10 * seed + number), in_table=True, rounds=tuple(range(1, n + 1)), **facts
        )
        for number, level in enumerate(levels)
    }
    return Samples(name="run", cells=cells, null={}, images=IMAGES)


NEW = {"images": IMAGES | {key(0).service: "sha256:new"}}


def test_a_service_of_a_table_is_compared_with_those_that_are_the_same_whatever_the_host_does() -> None:
    one, other = a_table(0.0, 0.3, 0.6, -0.5), replace(a_table(TEN, 0.3, 0.6, -0.5, host=-0.3, seed=1), **NEW)  # type: ignore[arg-type]
    changed, *same = run_differences(one, other)
    assert (changed.word, changed.reason) == (DIFFERS, "") and changed.ratio == pytest.approx(1.1, rel=0.01)
    assert changed.before.value == pytest.approx(1.0, rel=0.1) and changed.low is not None and changed.low > 1.03
    assert {row.word for row in same} == {"no difference shown"}
    # Without new images the changed service also counts as a reference, and distorts the others' comparison.
    changed, *same = run_differences(one, a_table(TEN, 0.3, 0.6, -0.5, host=-0.3, seed=1))
    assert changed.word == DIFFERS and {row.word for row in same} != {"no difference shown"}


def test_where_nothing_of_a_table_is_the_same_the_host_is_unknown() -> None:
    one, other = a_table(0.0, 0.3), replace(a_table(TEN, 0.3, seed=1), images={})
    for row in run_differences(one, other):
        assert (row.word, row.margin) == ("not enough data", None) and row.low is not None
        assert row.reason.startswith("no other service of the table has the same image in both runs")


@pytest.mark.parametrize(("n", "word"), [(4, "not enough data"), (5, DIFFERS)])
def test_a_table_needs_five_rounds_of_each_run(n: int, word: str) -> None:
    row = run_differences(a_table(0.0, 0.3, n=n), replace(a_table(0.3, 0.3, n=6, seed=1), **NEW))[0]  # type: ignore[arg-type]
    assert row.word == word and row.reason in ("", "4 of the 5 valid rounds that each run needs")


@pytest.mark.parametrize(
    ("rate", "level", "word", "reason"),
    [
        (1000.0, 0.7, DIFFERS, ""),
        (1000.0, 0.0, "no difference shown", ""),
        (1090.0, 0.7, DIFFERS, ""),
        (1090.0, 0.1, "not enough data", "the interval is not beyond the 12.3 % that another rate may have caused"),
        (1110.0, 0.7, "not comparable: rate", "1,000/s and 1,110/s"),
    ],
)
def test_latencies_at_two_rates_differ_by_what_the_rates_do_not_explain(
    rate: float, level: float, word: str, reason: str
) -> None:
    one = a_table(0.0, 0.3, 0.6, figure=P99, rate=1000.0)
    other = replace(a_table(level, 0.3, 0.6, figure=P99, rate=rate, seed=1), **NEW)  # type: ignore[arg-type]
    row = run_differences(one, other)[0]
    assert (row.word, row.reason) == (word, reason)


@pytest.mark.parametrize(
    ("facts", "word", "reason"),
    [
        ({}, DIFFERS, ""),
        ({"bounded": True}, "not enough data", "the load generator was the limit"),
        (
            {"credit": 0.09},
            "not enough data",
            "the interval is not beyond the 12.7 % that other programs may have caused",
        ),
    ],
)
def test_a_speed_that_is_uncertain_carries_no_verdict(facts: dict[str, object], word: str, reason: str) -> None:
    one, other = a_table(0.0, 0.3, 0.6), replace(a_table(TEN, 0.3, 0.6, seed=1), **NEW)  # type: ignore[arg-type]
    cells = {key(0, SPEED): replace(other.cells[key(0, SPEED)], **facts)}  # type: ignore[arg-type]
    changed, *same = run_differences(one, replace(other, cells=other.cells | cells))
    assert (changed.word, changed.reason) == (word, reason)
    assert {row.word for row in same} == {"no difference shown"}


def test_records_give_each_round_of_a_table() -> None:
    facts, records, loaded = rated()
    services = [*facts["tables_in_turns"][0]["services"]]
    records = [
        replace(
            one,
            image_id=f"sha256:{one.service}",
            nulls={name: why for name, why in one.nulls.items() if name != "image_id"},
        )
        for one in records
    ]
    found = samples_of("run", services, records, loaded.distributions)
    by_figure = {figure: [key for key in found.cells if key.figure == figure] for figure in (SPEED, P50, P99)}
    assert {len(keys) for figure, keys in by_figure.items() if figure != SPEED} == {4}
    p99 = next(key for key in by_figure[P99] if key.service.startswith("aiohttp"))
    assert (p99.tool, p99.level, found.cells[p99].rate) == ("vegeta", "share50", 1800.0)
    assert found.cells[p99].rounds == (2, 3, 4, 5, 6)
    assert np.exp(found.cells[p99].values) == pytest.approx([0.0022] * 5, rel=0.2)
    cost = next(key for key in found.cells if key.figure == CORE_IN_TURNS)
    assert found.cells[cost].rounds == (1, 2, 3, 4, 5, 6) and found.images[cost.service] == f"sha256:{cost.service}"
    # If all rounds together have too few requests for a p99, no round has one.
    few = {name: replace(one, requests=50, counts={10**6: 50}) for name, one in loaded.distributions.items()}
    assert not [key for key in samples_of("run", services, records, few).cells if key.figure == P99]


def test_a_service_whose_windows_were_all_refused_has_a_row_with_the_cause() -> None:
    facts, records, loaded = rated()
    services = [*facts["tables_in_turns"][0]["services"]]
    gone = next(name for name in services if name.startswith("aiohttp"))
    refused = [
        replace(one, valid=False, causes=(Cause("errors", "all of them"),)) if one.service == gone else one
        for one in records
    ]
    one, other = (samples_of("run", services, own, loaded.distributions) for own in (records, refused))
    cells = {key.figure: sample for key, sample in other.cells.items() if key.service == gone}
    assert {figure: (sample.values, sample.refused) for figure, sample in cells.items()} == {
        SPEED: ((), 6),
        P50: ((), 5),
    }
    (row,) = (row for row in run_differences(one, other) if row.service == gone)
    assert (row.figure, row.word, row.before.rounds, row.after.rounds) == (P50, "invalid: errors", 5, 0)
    # Figures of a table have no level of their own, so neither has one that is missing.
    assert not [trend for trend in trends_of([one, other, one, one, other]) if trend.service == gone]
    # Windows that never began are no rows.
    never = [replace(one, outcome=NOT_RUN) if one.service == gone else one for one in refused]
    assert not [key for key in samples_of("run", services, never, {}).cells if key.service == gone]


# How often they are wrong: a few of the lines of simulate_runs.py


@pytest.mark.parametrize("drift", [0.0, 0.03])
def test_noise_is_not_called_a_difference(drift: float) -> None:
    """Even if the host changed between the runs."""
    false, _, words = compared(30, [0.0] * 8, drift=drift)
    assert false <= 0.05, words


@pytest.mark.parametrize(("figure", "spread", "truth"), [(SPEED, 0.02, TEN), (P99, 0.2, log(2.0))])
def test_tables_of_five_rounds_find_a_change_and_no_false_one(figure: str, spread: float, truth: float) -> None:
    how = {"figure": figure, "rounds": 5, "spread": spread, "drift": 0.1}
    false, found, words = compared(40, [truth] + [0.0] * 7, **how)  # type: ignore[arg-type]
    assert found >= 0.7 and false <= 0.05, words


def test_a_change_of_ten_percent_is_found() -> None:
    false, found, words = compared(30, [TEN] + [0.0] * 7)
    assert found >= 0.9 and false <= 0.05, words


def test_a_change_of_3_percent_is_not_denied() -> None:
    _, _, words = compared(40, [MARGIN, -MARGIN, 0.05], spread=0.01)
    assert words.get("no difference shown", 0.0) <= 0.05, words


def test_the_p_value_holds_at_the_margin() -> None:
    rng, margin, wrong = np.random.default_rng(1), 0.03, 0
    for _ in range(500):
        one, other = 0.03 * rng.normal(size=(2, 8))
        shift = Welch(tuple(one.tolist()), tuple((other + margin).tolist()))
        p = shift.p_beyond(margin)
        wrong += p <= 0.05
        # Test and interval agree.
        assert (p <= 0.05) == (
            abs(shift.mean) > margin
            and not (shift.interval(0.95).low <= math.copysign(margin, shift.mean) <= shift.interval(0.95).high)
        )
    assert 0.005 <= wrong / 500 <= 0.05


def test_false_differences_would_be_seen() -> None:
    """Without the null server as a reference, the host would cause false differences."""
    rng = np.random.default_rng(1)
    one, other = made_up(rng, [0.0] * 10), made_up(rng, [0.0] * 10, drift=0.1)
    steady = replace(other, null=one.null | {NULL: sample(rounds(0.0, seed=9))})
    assert {row.word for row in run_differences(one, steady)} == {DIFFERS}
    assert {row.word for row in run_differences(one, other)} == {"not comparable: host"}
