"""The cost of a network, from wrk's outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from tests.cost.network_cost import median_interval, network_cost, read_rates, words


def output(requests: int, extra: str = "") -> str:
    return f"""Running 2s test @ http://null:8080/json
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   300.00us  100.00us   4.00ms   90.00%
    Req/Sec    20.00k     1.00k   21.00k    70.00%
  Latency Distribution
     50%  290.00us
     75%  310.00us
     90%  400.00us
     99%  500.00us
  {requests} requests in 2.00s, 4.00MB read
{extra}Requests/sec:  {requests / 2:.2f}
Transfer/sec:      2.00MB
"""


def measured(folder: Path, *rounds: tuple[int, int, int]) -> Path:
    for number, counts in enumerate(rounds):
        for name, count in zip(("host", "overlay", "bridge"), counts, strict=True):
            (folder / f"{number}.{name}.txt").write_text(output(count))
    return folder


def test_ratios_are_within_a_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The machine gets slower by half between rounds, and the ratios stay the same.
    assert network_cost([str(measured(tmp_path, (40000, 30000, 36000), (20000, 15000, 18000)))]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "host: 15,000 requests/s, median of 2 rounds",
        "overlay: 11,250 requests/s, 0.75 of the host's (0.75 to 0.75)",
        "bridge: 13,500 requests/s, 0.90 of the host's (0.90 to 0.90)",
    ]


def test_the_ratio_is_the_middle_one(tmp_path: Path) -> None:
    rates = read_rates(measured(tmp_path, (40000, 20000, 40000), (40000, 28000, 40000), (40000, 30000, 40000)))
    assert "0.70 of the host's (0.50 to 0.75)" in words("overlay", rates)


def test_the_interval_of_a_median_is_that_of_the_binomial_table() -> None:
    # For 10 values: the 2nd to the 9th; for 24: the 7th to the 18th; 5 are too few for 95 %, so all of them.
    assert median_interval([*range(10, 0, -1)]) == (2, 9)
    assert median_interval([*range(1, 25)]) == (7, 18)
    assert median_interval([3, 1, 2, 5, 4]) == (1, 5)


def test_a_network_that_was_not_measured_in_a_round(tmp_path: Path) -> None:
    measured(tmp_path, (40000, 30000, 36000))
    (tmp_path / "0.overlay.txt").unlink()
    with pytest.raises(UserError, match=r"0\.overlay\.txt is missing"):
        read_rates(tmp_path)


def test_errors_are_no_figure(tmp_path: Path) -> None:
    measured(tmp_path, (40000, 30000, 36000))
    (tmp_path / "0.bridge.txt").write_text(output(40000, "  Non-2xx or 3xx responses: 40000\n"))
    with pytest.raises(UserError, match="answered well"):
        read_rates(tmp_path)


def test_nothing_was_measured(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no output of wrk"):
        read_rates(tmp_path)
