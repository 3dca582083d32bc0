"""A window spoiled by noise on the host is measured again, whatever its figures, as long as there is time for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from captured import Capture
from loop_runs import FIRST, SECOND, ask, begun, finish, null, solo, step_id
from make_run import write_measurement

from bench.run.reader import read_run

NOISY = {"after": {"loadgen": {"cpuacct.usage": "2500000000"}, "proc_stat": "cpu  400 0 200 999 0 0 0 1 0 0"}}


def spoil(folder: Path, line: dict[str, Any], tool: dict[str, Any] = NOISY) -> None:
    """End the step with these facts in tool.json; by default, with 18 % of foreign CPU."""
    finish(folder, [line], [3000])
    write_measurement(folder, line, (folder / line["dir"] / "output.txt").read_text(), tool=tool)
    (folder / line["dir"] / "meta.json").unlink()


def test_a_spoiled_window_comes_again_at_the_end_of_its_round(tmp_path: Path, capsys: Capture) -> None:
    one, two, later = solo("aiohttp", 1), solo("tornado", 2), solo("tornado", 1, 2)
    folder = begun(tmp_path, capsys, one, two, later)
    spoil(folder, one)
    words = "to be measured again, because of noise on the host (foreign CPU 18.3%)"
    assert ask(folder, capsys, 10) == (0, [f"aiohttp-py313-debian json wrk c64: {words}"])
    assert step_id(folder) == two["id"] and not (folder / one["dir"]).exists()
    assert [*folder.glob("raw/r01/0001.spoiled-1/*/*/*/*/meta.json")], "what it showed is kept"
    finish(folder, [two], [4000])
    assert ask(folder, capsys, 20)[0] == 0 and step_id(folder) == one["id"]
    finish(folder, [one], [3000])
    status, said = ask(folder, capsys, 30)
    assert (status, step_id(folder)) == (0, later["id"]) and "3,000 requests/s" in said[0]
    finish(folder, [later], [4000])
    assert ask(folder, capsys, 40)[0] == 3 and read_run(str(folder)).measured_again == 1


def test_a_window_in_which_the_clock_was_set_comes_again(tmp_path: Path, capsys: Capture) -> None:
    """wrk and ab divide by the time of day, so their figures are wrong then, which is not the service's fault."""
    folder = begun(tmp_path, capsys, FIRST, SECOND)
    spoil(folder, FIRST, {"elapsed_ns": 1_000_000_000})
    status, said = ask(folder, capsys, 10)
    assert (status, step_id(folder)) == (0, SECOND["id"])
    assert "aiohttp-py313-debian json wrk c64: to be measured again" in said[0]
    assert "the time of day was set forward by 5 s under load" in said[0]


def test_the_time_for_that_is_half_as_much_again(tmp_path: Path, capsys: Capture) -> None:
    lines = [solo("aiohttp", number, level=f"c{number}", dir=f"raw/r01/a/b/{number}") for number in range(1, 5)]
    folder = begun(tmp_path, capsys, *lines)
    tried = []
    for now in range(1, 20):
        tried.append(step_id(folder))
        spoil(folder, next(line for line in lines if line["id"] == tried[-1]))
        if ask(folder, capsys, now)[0] != 0:
            break
    assert sorted(tried) == sorted([*(line["id"] for line in lines), tried[0], tried[1]])
    assert len(tried) == 6, "four windows, and two more for half of their time"


def test_a_quiet_window_is_measured_once_however_it_ends(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST)
    finish(folder, [FIRST], [3000], statuses={"run": 12})
    assert ask(folder, capsys, 10)[0] == 3
    assert json.loads((folder / FIRST["dir"] / "meta.json").read_text())["outcome"] == "load tool failed"


def test_the_null_server_has_one_more_try(tmp_path: Path, capsys: Capture) -> None:
    """Noise only lowers the limit that it shows, so one more try is enough; there would be time for two."""
    others = (solo("aiohttp", number, level=f"c{number}", dir=f"raw/r01/a/b/{number}") for number in (2, 3, 4))
    lines = [null(1), *others]
    folder = begun(tmp_path, capsys, *lines)
    tried = []
    for now in range(1, 6):
        tried.append(step_id(folder))
        line = next(line for line in lines if line["id"] == tried[-1])
        if line["service"] == "null":
            spoil(folder, line)
        else:
            finish(folder, [line], [3000])
        status, _ = ask(folder, capsys, now)
    assert (status, tried.count(lines[0]["id"]), len(tried)) == (3, 2, 5)
