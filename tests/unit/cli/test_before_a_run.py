"""What is read before a run, to say what may keep it from an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from bench.analysis.runs.host_state import cpu_shares, host_state
from bench.cli.arguments import parse_selection
from bench.cli.plan import list_verb, plan_of, wanted_of


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
