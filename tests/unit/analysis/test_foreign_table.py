"""Somebody else's benchmark table, held against what cannot be."""

from __future__ import annotations

import io
import sys

import pytest

from bench.analysis.foreign_table import Row, read_table, remarks
from bench.cli.audit import audit_table_verb
from bench.core.errors import UserError

GOOD = "server,requests/s,mean (ms),p99\na,1000,16.0,30ms\nb,500,32,60ms\n"


def said(rows: list[Row], connections: float | None = 16, wait_s: float = 0.0) -> list[tuple[bool, str]]:
    return [(one.impossible, one.words) for one in remarks(rows, connections, wait_s)]


def row(name: str = "a", **figures: float) -> Row:
    return Row(name, figures)


def test_a_table_is_read_from_csv_tabs_and_markdown_with_units() -> None:
    wanted = [Row("a", {"rate": 1000, "mean": 0.016, "p99": 0.03}), Row("b", {"rate": 500, "mean": 0.032, "p99": 0.06})]
    assert read_table(GOOD) == wanted
    assert read_table(GOOD.replace(",", "\t")) == wanted
    markdown = "| server | Requests/sec | mean (ms) | p99 |\n| --- | ---: | --- | --- |\n| a | 1,000 | 16.0 | 30 ms |\n"
    assert read_table(markdown + "| **b** | 0.5k | 32 | 60 ms |\n") == wanted


def test_a_table_that_agrees_with_itself_has_no_remark() -> None:
    assert said(read_table(GOOD)) == []


def test_littles_law() -> None:
    ((impossible, words),) = said([row(rate=1000, mean=0.100)])
    assert impossible and words == (
        "a: 16 connections at 1,000 requests/s take 16.0 ms each (Little's law), but its mean latency is 100 ms"
    )
    ((impossible, words),) = said([row(rate=1000, mean=0.001)])
    assert not impossible and "the client was the limit" in words
    assert said([row(rate=1000, mean=0.0165)]) == []


def test_a_wait_bounds_the_rate_and_each_latency() -> None:
    told = said([row(rate=1000, p50=0.010)], wait_s=0.020)
    assert [impossible for impossible, _ in told] == [True, True]
    assert "allow 800 with a wait of 20 ms" in told[0][1] and "shorter than the wait" in told[1][1]


def test_percentiles_out_of_order_and_a_mean_above_the_maximum() -> None:
    assert said([row(p50=0.020, p99=0.010)]) == [(True, "a: p50 (20.0 ms) is above p99 (10.0 ms)")]
    assert said([row(mean=0.020, max=0.010)]) == [(True, "a: its mean latency (20.0 ms) is above its maximum")]


def test_rows_that_the_client_limits_and_neighbours_closer_than_runs_vary() -> None:
    rows = [row(name, rate=rate) for name, rate in (("a", 50_000), ("b", 49_900), ("c", 49_800), ("d", 20_000))]
    told = said(rows)
    assert [impossible for impossible, _ in told] == [False, False]
    assert told[0][1].startswith("a, b and c are within 3.0 %") and told[1][1].startswith("2 of 3 neighbours differ")


def test_errors_beside_requests() -> None:
    assert "were they counted" in said([row(rate=1000, errors=50)])[0][1]
    assert said([row(rate=1000, errors=0)]) == []


@pytest.mark.parametrize("text", ["", "nothing", "a,b\n1,2\n", "\x00" * 100, "| a |\n| --- |\n"])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"no (table|column)"):
        read_table(text)


@pytest.mark.parametrize(("text", "status"), [(GOOD, 0), (GOOD.replace("16.0", "160"), 1)])
def test_the_verb_ends_with_one_if_something_cannot_be(
    text: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert audit_table_verb(["--connections", "16"]) == status
    assert capsys.readouterr().out.startswith("cannot be: a: 16" if status else "Nothing in these 2 rows")
