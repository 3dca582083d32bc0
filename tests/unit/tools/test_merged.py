"""Outputs of several load generators as one: the tools' real outputs, in sums."""

from __future__ import annotations

from dataclasses import replace

import pytest
from places import SAMPLES

from bench.tools import parse
from bench.tools.parsed import Errors, Latency, merged

PERCENTILES = ("p50", "p75", "p90", "p95", "p99")
BASIC = {"wrk": "basic-latency.txt"}


@pytest.mark.parametrize("tool", ["wrk", "ab", "hey"])
def test_counts_and_rates_are_sums_and_percentiles_are_never_made(tool: str) -> None:
    part = parse(tool, (SAMPLES / tool / BASIC.get(tool, "basic.txt")).read_bytes())
    assert part.report == "complete" and part.requests and part.rps and part.latency_s.p50 is not None
    other = replace(part, requests=2 * part.requests, latency_s=Latency(mean=1.0, min=0.0, max=9.0, p50=0.5))
    whole = merged([part, other])
    assert whole.report == "complete"
    assert (whole.requests, whole.rps) == (3 * part.requests, 2 * part.rps)
    assert whole.bytes_read == 2 * (part.bytes_read or 0)
    assert whole.duration_s == part.duration_s
    assert [getattr(whole.latency_s, key) for key in (*PERCENTILES, "stdev")] == [None] * 6
    assert whole.latency_s.max == 9.0
    assert whole.latency_s.mean == pytest.approx(((part.latency_s.mean or 0) + 2) / 3)


def test_percentiles_are_those_that_the_tool_made_of_all_results() -> None:
    part = parse("vegeta", (SAMPLES / "vegeta" / "basic-text.txt").read_bytes())
    of_all = replace(part, latency_s=Latency(p50=0.1, p99=0.2), attempts=1)
    whole = merged([part, part], of_all)
    assert whole.latency_s == Latency(p50=0.1, p99=0.2)
    assert whole.attempts == 2 * (part.attempts or 0)
    assert whole.errors.status == {code: 2 * count for code, count in (part.errors.status or {}).items()}


def test_a_kind_of_error_that_one_does_not_tell_is_not_known_of_all() -> None:
    part = parse("hey", (SAMPLES / "hey" / "basic.txt").read_bytes())
    silent = replace(part, errors=replace(part.errors, timeout=None, status=None))
    whole = merged([part, silent])
    assert whole.errors.timeout is None and whole.errors.status is None and whole.errors.non2xx == 0
    lengths = replace(part, errors=Errors(other={"length": 2, "exceptions": 1}))
    assert merged([lengths, lengths]).errors.other == {"exceptions": 2, "length": 4}


def test_an_ambiguous_number_of_good_answers_stays_a_range() -> None:
    part = parse("ab", (SAMPLES / "ab" / "length-failures.txt").read_bytes())
    assert part.ok is None and part.ok_range is not None
    sure = replace(part, ok=10, ok_range=None)
    assert merged([part, sure]).ok_range == (part.ok_range[0] + 10, part.ok_range[1] + 10)


def test_one_that_is_cut_off_is_named() -> None:
    data = (SAMPLES / "wrk" / "basic-latency.txt").read_bytes()
    whole = merged([parse("wrk", data), parse("wrk", data[: len(data) // 2])])
    assert whole.report == "partial" and str(whole.failure).startswith("client 2: cut off")
