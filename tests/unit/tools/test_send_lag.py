"""How late requests were sent, and whether the validity gate accepts it: on attacks with a known lag."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built_runs import only_record
from make_run import entry, output_of, sent_on_time, write_measurement, write_run
from places import SAMPLES

from bench.records.record import Record
from bench.tools.send_lag import (
    SHARES,
    Attack,
    lag_facts,
    lags,
    latency_facts,
    least_requests,
    most_in_flight,
    quantile,
    quantile_of,
    read_csv,
    read_lag,
    save_schedule,
)

MS = 1_000_000
VEGETA = entry(tool="vegeta", level="r2000")
REQUESTS = 10_000


def attack(late_ms: Callable[[int], float], took_ms: Callable[[int], float], count: int = REQUESTS) -> Attack:
    """An attack with 2,000 requests/s; the functions of a request's number give its lag and response time."""
    return Attack(
        array("q", (10**18 + number * MS // 2 + round(late_ms(number) * MS) for number in range(count))),
        array("q", (round(took_ms(number) * MS) for number in range(count))),
    )


def judged(folder: Path, the_attack: Attack, workers: int = 16_000) -> Record:
    write_run(folder, [VEGETA])
    write_measurement(folder, VEGETA, output_of(VEGETA, 2000))
    (folder / VEGETA["dir"] / "lag.json").write_text(json.dumps(lag_facts(the_attack, 2000, workers)))
    return only_record(folder)


def test_lag_is_counted_from_the_schedule() -> None:
    late = attack(lambda number: 7.0 if number % 10 == 3 else 0.0, lambda _: 1.0)
    assert sorted(set(lags(late, 2000))) == [0, 7 * MS]
    facts = lag_facts(late, 2000, 64)
    assert facts["lag_s"] == {"p50": 0, "p99": 0.007, "max": 0.007}
    assert facts["late_ratio"] == 0.1


def test_a_late_first_request_hides_no_lag() -> None:
    late = attack(lambda number: 50.0 if number < 100 else 0.0, lambda _: 1.0)
    assert max(lags(late, 2000)) == 50 * MS
    assert lag_facts(late, 2000, 64)["late_ratio"] == 0.01


@pytest.mark.parametrize("took_ms, most", [(0.4, 1), (4.9, 10), (100.0, 200)])
def test_requests_in_flight(took_ms: float, most: int) -> None:
    assert most_in_flight(attack(lambda _: 0, lambda _: took_ms)) == most


def test_percentiles_are_ranks() -> None:
    rng = random.Random(3)
    for count in (1, 2, 10, 100, 999, 1000):
        values = [rng.randrange(1, 900) for _ in range(count)]
        counts = {value: values.count(value) for value in set(values)}
        for share in SHARES.values():
            exact = quantile(sorted(values), share)
            assert exact == quantile_of(counts, share)
            assert sum(value <= exact for value in values) >= share * count - 1e-6
            assert sum(value < exact for value in values) < share * count


def test_latencies_keep_three_digits_and_every_request() -> None:
    rng = random.Random(4)
    took = array("q", (int(rng.lognormvariate(15, 2)) + 1 for _ in range(5000)))
    facts = latency_facts(Attack(array("q", range(5000)), took), 1e9)
    assert sum(facts["counts"]) == facts["requests"] == 5000 and facts["max_ns"] == max(took)
    counts = dict(zip(facts["ns"], facts["counts"], strict=True))
    for share in SHARES.values():
        assert quantile_of(counts, share) == pytest.approx(quantile(sorted(took), share), rel=0.0051)


def test_enough_requests_are_those_of_the_specification() -> None:
    assert [least_requests(SHARES[name]) for name in ("p99", "p99.9")] == [5000, 50000]


def test_what_left_on_time_is_valid(tmp_path: Path) -> None:
    record = judged(tmp_path, attack(lambda _: 0, lambda _: 2.0))
    assert record.valid, record.causes
    assert record.lag_s == {"p50": 0, "p99": 0, "max": 0}


def test_what_left_late_is_not_the_asked_load(tmp_path: Path) -> None:
    record = judged(tmp_path, attack(lambda number: 30 if number % 50 == 1 else 0, lambda _: 2.0))
    (cause,) = record.causes
    assert cause.cause == "load not as requested"
    assert (
        "the client was late by 30 ms (p99), 30 ms at most, 2.00% of requests by more than 1 ms, 5 in flight at once"
        in cause.detail
    )
    assert "p99 is 32 ms from when requests were due, 2 ms as sent" in cause.detail


@pytest.mark.parametrize(
    "late_ms, took_ms, one_in, found",
    [
        (0.19, 2, 3, False),  # the limit: 10 %
        (0.21, 2, 3, True),
        (0.021, 0.2, 3, True),
        (25, 300, 3, False),
        (35, 300, 3, True),
        (40, 2, 1, False),  # the same load, 40 ms later
        (500, 2, 250, False),  # 0.4 % late: p99 is unchanged
    ],
)
def test_lag_counts_by_what_it_does_to_the_percentiles(
    late_ms: float, took_ms: float, one_in: int, found: bool, tmp_path: Path
) -> None:
    late = attack(lambda number: late_ms if number and number % one_in == 0 else 0, lambda _: took_ms)
    assert ([cause.cause for cause in judged(tmp_path, late).causes] == ["load not as requested"]) == found


def test_a_load_that_falls_behind_is_found_by_its_end(tmp_path: Path) -> None:
    # 40 ms late after 5 s: 99.2 % of the rate.
    assert "late by" in judged(tmp_path, attack(lambda number: 0.004 * number, lambda _: 2.0)).causes[0].detail


def test_a_p99_that_is_not_told_cannot_be_wrong() -> None:
    for count, moved in ((5000, ["p99"]), (4000, [])):
        late = attack(lambda number: 30 if number % 50 == 1 else 0, lambda _: 2.0, count)
        lag = read_lag(lag_facts(late, 2000, 64))
        assert lag is not None and list(lag.moved()) == moved


def test_workers_that_are_all_in_use_are_told_apart(tmp_path: Path) -> None:
    open_ones = attack(lambda _: 0, lambda _: 100.0)
    assert judged(tmp_path / "enough", open_ones, 210).valid
    (cause,) = judged(tmp_path / "short", open_ones, 200).causes
    assert (cause.cause, cause.detail) == (
        "load not as requested",
        "all 200 of vegeta's workers were in use: requests that were due then were not sent",
    )


def test_a_run_without_the_file_says_so(tmp_path: Path) -> None:
    write_run(tmp_path, [VEGETA])
    write_measurement(tmp_path, VEGETA, output_of(VEGETA, 2000))
    (tmp_path / VEGETA["dir"] / "lag.json").unlink()
    record = only_record(tmp_path)
    assert record.lag_s is None and record.nulls["lag_s"] == "lag.json is missing"


def change(path: tuple[str, ...], value: Any) -> str:
    facts = json.loads(sent_on_time(1000, 200)["lag.json"])
    inner = facts
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return json.dumps(facts)


@pytest.mark.parametrize(
    "text",
    [
        change(("requests",), "1"),
        change(("workers",), True),
        change(("late_ratio",), None),
        change(("lag_s",), 3),
        change(("lag_s", "p99"), -1),
        change(("as_sent_s", "p99"), float("nan")),
        change(("from_schedule_s",), {}),
        "{}",
    ],
)
def test_a_lag_file_that_is_none_is_no_figure(text: str) -> None:
    assert read_lag(json.loads(text)) is None


def csv_of(rows: list[list[Any]]) -> list[str]:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().splitlines(keepends=True)


def row(number: int, sent_ns: int, took_ns: int, code: int = 200, error: str = "") -> list[Any]:
    return [sent_ns, code, took_ns, 0, 38, error, "", "", number, "GET", "http://h/", ""]


def test_results_are_put_in_the_order_of_their_sending() -> None:
    read = read_csv(csv_of([row(1, 2000, 7), row(0, 1000, 9)]), 10)
    assert (list(read.sent_ns), list(read.took_ns)) == ([1000, 2000], [9, 7])


def test_a_timeout_counts_at_the_timeouts_value() -> None:
    late = 'Get "http://h/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    refused = 'Get "http://h/": dial tcp 127.0.0.1:1: connect: connection refused'
    rows = [row(0, 0, 2_000_900_000, 0, late), row(1, 1, 5, 0, refused), row(2, 2, 6, 500, "500 Internal Server Error")]
    assert list(read_csv(csv_of(rows), 2).took_ns) == [2 * 10**9, 5, 6]


def test_real_results_read_as_vegeta_reads_them() -> None:
    binary = SAMPLES / "vegeta" / "ramp-results.bin"
    text = subprocess.run(["vegeta", "encode", "-to", "csv", binary], capture_output=True, text=True, check=True).stdout
    report = json.loads(
        subprocess.run(["vegeta", "report", "-type=json", binary], capture_output=True, check=True).stdout
    )
    read = read_csv(text.splitlines(), 10)
    assert read.requests == report["requests"] == 200
    assert sum(read.took_ns) == report["latencies"]["total"]
    assert max(read.took_ns) == report["latencies"]["max"]
    assert quantile(sorted(read.took_ns), 0.99) == pytest.approx(report["latencies"]["99th"], rel=0.001)
    # The sample's server alternates between 10 and 100 ms, at 100 requests/s.
    assert most_in_flight(read) in range(6, 12)


def saved(folder: Path, text: str) -> tuple[Any, Any]:
    lag, latencies = folder / "lag", folder / "latencies"
    save_schedule(io.StringIO(text), 1000, 10, 64, lag=lag, latencies=latencies)
    return json.loads(lag.read_text()), json.loads(latencies.read_text())


def test_both_files_are_written(tmp_path: Path) -> None:
    lines = csv_of([row(number, number * 10**6, 5 * 10**6) for number in range(100)])
    lag, latencies = saved(tmp_path, "".join(lines))
    assert lag["in_flight_max"] == 5 and latencies["counts"] == [100]


@pytest.mark.parametrize("text", ["nonsense\n", "1,2,3\n", "x" * 200_000])
def test_what_is_no_csv_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        saved(tmp_path, text)
    assert not list(tmp_path.iterdir())


def test_an_attack_without_a_result_has_files(tmp_path: Path) -> None:
    assert read_lag(saved(tmp_path, "")[0]) is None
