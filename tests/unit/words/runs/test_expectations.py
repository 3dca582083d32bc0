"""What is said before a run that may end without an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from bench.analysis.runs.host_state import HostState, cpu_shares, host_state
from bench.cli.arguments import parse_selection
from bench.cli.plan import list_verb, plan_of, wanted_of
from bench.words.advice import Wanted, expectations

WANTED = Wanted(mode="turns", services=8, tables=2, prepared_s=30.0, first_look_s=120.0)
QUIET = HostState(cpus=2, busy=0.02, steal=0.0, governors=("performance",), on_battery=False)


def wanted(**changes: object) -> Wanted:
    values = {name: getattr(WANTED, name) for name in Wanted.__slots__} | changes
    return Wanted(**values)  # type: ignore[arg-type]


def test_a_run_that_will_answer_says_nothing() -> None:
    assert expectations(QUIET, WANTED) == ()
    assert expectations(HostState(), WANTED) == ()
    assert expectations(QUIET, wanted(max_time_s=151.0)) == ()


@pytest.mark.parametrize(
    ("changes", "says", "helps"),
    [
        ({"services": 1, "tables": 0}, "Only one service is selected", "select two (--stack A,B)"),
        ({"mode": "solo", "tables": 0}, "no verdict on a difference", "without --mode"),
        ({"tables": 0}, "No load of this selection can be compared", "--level 16"),
        (
            {"max_time_s": 60.0},
            "--max-time 1 ends before the first look, which is expected after about 3 min (0.5 of them",
            "--max-time 4",
        ),
        (
            {"max_time_s": 90.0},
            "--max-time 1.5 suffices for the first look at 1 of 2 tables, which come",
            "--max-time 4",
        ),
        ({"max_time_s": 149.0, "tables": 14}, "at 13 of 14 tables, which come first", "--max-time 4"),
    ],
)
def test_a_selection_that_cannot_answer_has_one_line(changes: dict[str, object], says: str, helps: str) -> None:
    (line,) = expectations(QUIET, wanted(**changes))
    assert says in line and helps in line


@pytest.mark.parametrize(
    ("host", "says", "helps"),
    [
        (HostState(cpus=1), "only one CPU", "two CPUs would help"),
        (HostState(busy=0.34), "Other programs use 34 % of the CPUs", "--rounds"),
        (HostState(steal=0.05), "The hypervisor takes 5 % of the CPU time", "--rounds"),
        (HostState(governors=("performance", "powersave")), "governor is powersave", "cpupower"),
        (HostState(on_battery=True), "on battery", "plug it in"),
    ],
)
def test_a_machine_that_widens_intervals_has_one_line(host: HostState, says: str, helps: str) -> None:
    (line,) = expectations(host, WANTED)
    assert says in line and helps in line


def test_each_cause_has_its_line_and_the_selection_comes_first() -> None:
    lines = expectations(HostState(cpus=1, busy=0.5, steal=0.1), wanted(mode="solo"))
    assert len(lines) == 4 and lines[0].startswith("--mode solo")


def test_shares_are_those_between_two_readings() -> None:
    before, after = "cpu  10 0 10 100 0 0 0 0 0 0\n", "cpu  30 0 20 160 0 0 0 10 0 0\ncpu0 1 1 1 1\n"
    assert cpu_shares(before, after) == (pytest.approx(0.3), pytest.approx(0.1))
    assert cpu_shares(before, before) == cpu_shares("", after) == cpu_shares("cpu x", "cpu y") == (None, None)


def test_the_state_of_a_host_is_read_from_its_files(tmp_path: Path) -> None:
    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    put("proc/stat", "cpu  0 0 0 100 0 0 0 0 0 0\n")
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    put("sys/class/power_supply/BAT0/type", "Battery\n")
    put("sys/class/power_supply/BAT0/status", "Discharging\n")
    seen = host_state(tmp_path, lambda _: put("proc/stat", "cpu  50 0 0 150 0 0 0 0 0 0\n"))
    assert (seen.busy, seen.steal, seen.governors, seen.on_battery) == (0.5, 0.0, ("powersave",), True)
    bare = host_state(tmp_path / "nothing", lambda _: None)
    assert (bare.busy, bare.steal, bare.governors, bare.on_battery) == (None, None, (), None)


def test_what_is_wanted_is_read_from_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = parse_selection(["--quiet", "--stack", "aiohttp,tornado", "--scenario", "json"])
    assert options.quiet and "--quiet" not in options.command_line
    plan, _, _ = plan_of(options)
    here = {service.image + ":latest" for service in plan.services}
    ready, missing = wanted_of(plan, 60.0, here), wanted_of(plan, None, set())
    assert (ready.mode, ready.services, ready.tables, ready.max_time_s) == ("turns", 2, 1, 60.0)
    assert missing.prepared_s > ready.prepared_s > 0 and ready.first_look_s > 0
    assert wanted_of(plan, None, None) == wanted_of(plan, None, here)


def test_a_list_says_it_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert list_verb(["--preset", "quick", "--max-time", "1"]) == 0
    assert "--max-time 1 ends before the first look" in capsys.readouterr().err
    assert list_verb(["--preset", "quick"]) == 0
    assert capsys.readouterr().err == ""
