"""A block with a fake load generator: a failure affects only its own service; the files of a window."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, count, product, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest
from captured import Patch, refused
from loop_runs import NAMES, STACKS, block, one_step, tables_of
from make_run import write_run
from waiting import IS_UP, tools_are_up_in_their_turns

from bench.exchange.http import quiet_s
from bench.load import in_turns as block_module
from bench.load import turns as turns_module
from bench.load.failures import Failed
from bench.load.in_turns import CONTAINERS, load_windows, rate_of, seconds_for, turn_s_for, wait_for_all
from bench.load.sockets import Connections, Traffic
from bench.load.task import Task, read_step
from bench.load.turns import SHORT, Runner, Turns
from bench.plan.measurement import planned_of
from bench.schedule.step_file import write_step
from bench.tools.tool import Command, Load
from bench.tools.wrk import Wrk
from bench.validity.run_rules import LEAST_SUCCESSES

OWN = "own-database"  # of a user's own app
TOOL = f"""
trap 'echo told to end; exit "$1"' INT
{IS_UP}
while :; do sleep 0.01; done
"""


class Fake:
    """A load generator's folder, with a run that has one block."""

    def __init__(self, folder: Path, lines: list[dict[str, Any]]) -> None:
        self.folder, self.lines = folder, lines
        (folder / "tool.sh").write_text(TOOL)
        self.tool(0)
        self.run = write_run(folder / "results/a-run", lines, tables_in_turns=tables_of(lines))
        write_step(self.run, one_step(lines))
        (self.run / CONTAINERS).write_text(json.dumps({name: [f"/{name}"] for name in (*NAMES, "postgres", OWN)}))
        for name in (*NAMES, "postgres", OWN):
            (folder / "cgroups" / name).mkdir(parents=True)
            (folder / "cgroups" / name / "cpuacct.usage").write_text("7000\n")

    def tool(self, status: int, service: str = "", *argv: str) -> None:
        """Set the tool of a service (default: all), which ends with this status when told to, or runs `argv`."""
        words = argv or ("sh", str(self.folder / "tool.sh"), str(status))
        (self.folder / f"tool{'-' if service else ''}{service}").write_text("".join(f"{word}\n" for word in words))

    def says(self, verb: str, service: str, words: str) -> None:
        (self.folder / f"{verb}-{service}").write_text(words + "\n")

    def act(self, verb: str) -> Callable[..., None]:
        """A fake verb: it fails with the `STATUS WORDS` from `says` for its service, if any, or succeeds."""

        def do(task: Task, say: Callable[[str], None], timeout_s: str | None = None) -> None:
            self.ask(verb, task.load)
            if timeout_s:
                self.fail_as_told("after", service_of(task.load))
            say(f"{verb} 3")

        return do

    def command(self, _tool: object, load: Load) -> Command:
        """The command line, from the file `tool-SERVICE` or `tool`."""
        self.ask("argv", load)
        own = self.folder / f"tool-{service_of(load)}"
        return Command(tuple((own if own.exists() else self.folder / "tool").read_text().splitlines()))

    def ask(self, verb: str, load: Load) -> None:
        with (self.folder / "asked").open("a") as asked:
            asked.write(f"{verb} {service_of(load)}\n")
        self.fail_as_told(verb, service_of(load))

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()

    def fail_as_told(self, verb: str, service: str) -> None:
        file = self.folder / f"{verb}-{service}"
        if file.exists():
            status, _, words = file.read_text().strip().partition(" ")
            raise Failed(int(status), words)

    def measure(self) -> None:
        step = read_step(str(self.run))
        with suppress(Failed):
            wait_for_all(step)
        load_windows(step)

    def told(self, service: str, window: int = 1, scenario: str = "json") -> dict[str, Any]:
        """tool.json of a window."""
        return dict(json.loads((self.window(scenario, window) / service / "tool.json").read_text()))

    def loaded(self, scenario: str = "json") -> list[bool]:
        """Which of the services were."""
        return [(self.window(scenario) / name / "tool.json").exists() for name in NAMES]

    def window(self, scenario: str = "json", number: int = 1) -> Path:
        return self.run / f"raw/r01/b1/{scenario}/wrk-c16/w{number}"

    def ended(self, service: str) -> tuple[str, str]:
        """The status of a service, and the last line that was said."""
        files = (self.run / f"raw/r01/b1/services/{service}.{kind}" for kind in ("status", "txt"))
        status, said = (file.read_text().splitlines()[-1] for file in files)
        return status, said


def service_of(load: Load) -> str:
    return load.url.removeprefix("http://").partition(":")[0]


Make = Callable[..., Fake]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.chdir(tmp_path)
    tools_are_up_in_their_turns(monkeypatch)
    monkeypatch.setattr(turns_module, "connections_to", lambda peer: Connections(0))
    monkeypatch.setattr(block_module, "address_of", lambda name: "127.0.0.1")
    monkeypatch.setattr(block_module, "cgroup_root", lambda: tmp_path / "cgroups")
    monkeypatch.setattr("bench.load.cpu_counters.HOST", tmp_path / "cgroups")
    monkeypatch.setattr("bench.load.cpu_counters.cgroup_root", lambda: tmp_path / "cgroups")

    def made(scenarios: Iterable[str] = ("json",), windows: int = 1, **changes: Any) -> Fake:
        lines = block(1, STACKS, tuple(scenarios), windows=windows)
        fake = Fake(tmp_path, [line | {"duration_s": 0.2, "turn_s": 0.1} | changes for line in lines])
        monkeypatch.setattr(block_module, "wait_until_ready", fake.act("ready"))
        monkeypatch.setattr(block_module, "prepare", fake.act("prepare"))
        monkeypatch.setattr(block_module, "command_of", fake.command)
        monkeypatch.setattr(block_module, "idle_response", lambda load: None)
        # Keep the name in the address, to know which service is asked.
        monkeypatch.setattr(block_module, "at_address", lambda load, *_: load)
        monkeypatch.setattr(Wrk, "version", lambda _: "4.2.0")
        return fake

    return made


@pytest.fixture
def fake(make: Make) -> Fake:
    return make()


def test_every_window_of_every_service_is_saved_with_its_turns(make: Make) -> None:
    fake = make(("json", "db-raw"), windows=2)
    fake.measure()
    for scenario, window, name in product(("json", "db-raw"), (1, 2), NAMES):
        told = fake.told(name, window, scenario)
        turns = told["turns"]
        assert (told["tool"], told["tool_version"], told["exit_status"]) == ("wrk", "4.2.0", 0)
        assert told["health_after"] == {"status": 200, "time_s": None, "error": None}
        # The tool ends in the last turn, which is of the average length; the other one is short.
        assert turns["count"] == 2 and turns["load_ns"] >= 10**8 * (1 + SHORT)
        assert [turns["cpu_ns"][used] for used in (name, "postgres", OWN)] == [0, 0, 0]
        assert (fake.window(scenario, window) / name / "output.txt").read_text() == "told to end\n"
    asked = fake.asked()
    assert sorted(asked[:3]) == sorted(f"ready {name}" for name in NAMES)
    assert asked.count(f"prepare {NAMES[0]}") == 4
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has already ended
            assert str(fake.folder / "tool.sh").encode() not in path.read_bytes(), "no tool outlives its window"


def test_the_connections_that_each_service_was_sent_are_saved(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = (Traffic(7 * number, 0) for number in range(1000))
    monkeypatch.setattr(turns_module, "traffic", lambda: next(seen))
    fake.measure()
    assert {name: fake.told(name)["opened"] for name in NAMES} == dict.fromkeys(NAMES, 14)


def test_what_has_no_counter_says_so(fake: Fake) -> None:
    (fake.run / CONTAINERS).write_text(json.dumps({NAMES[0]: [f"/{NAMES[0]}"], "postgres": ["/not-found"]}))
    fake.measure()
    one = fake.told(NAMES[0])
    assert one["turns"]["missing"] == {"postgres": "its cgroup cannot be read in the load generator"}
    assert "postgres" not in one["turns"]["cpu_ns"]


def test_without_the_hosts_list_cgroups_are_searched_and_what_is_missing_said(fake: Fake, monkeypatch: Patch) -> None:
    (fake.run / CONTAINERS).unlink()
    monkeypatch.setattr(block_module, "find_cgroups", lambda names, root: {NAMES[0]: NAMES[0]})
    fake.measure()
    one = fake.told(NAMES[0])
    assert NAMES[0] in one["turns"]["cpu_ns"]
    assert {NAMES[1], NAMES[2], "postgres", "upstream"} <= one["turns"]["missing"].keys()


@pytest.mark.parametrize("verb", ["ready", "prepare", "argv"])
def test_a_service_that_fails_before_the_load_is_left_out_and_no_other(make: Make, verb: str) -> None:
    fake = make(("json", "db-raw"))
    fake.says(verb, NAMES[1], "11 expected status 200, got 500")
    fake.measure()
    for scenario in ("json", "db-raw"):
        assert fake.loaded(scenario) == [True, False, True]
    assert fake.ended(NAMES[1]) == ("11", "measure: expected status 200, got 500")
    # It is asked only once, not for each window.
    assert fake.asked().count(f"{verb} {NAMES[1]}") == 1


def test_a_service_whose_container_is_gone_is_left_out_and_no_other(fake: Fake, monkeypatch: Patch) -> None:
    monkeypatch.setattr(block_module, "address_of", lambda name: None if name == NAMES[1] else "127.0.0.1")
    fake.measure()
    status, said = fake.ended(NAMES[1])
    assert fake.loaded() == [True, False, True]
    assert status == "10" and "no longer has an address" in said


FAILING = [
    (("sh", "-c", "echo cannot; exit 3"), 3),
    (("sh", "-c", "kill -SEGV $$"), 139),
    (("no-such-tool",), 127),
    # The status of ab when it is interrupted; but nobody has interrupted it.
    (("sh", "-c", "exit 1"), 1),
]


@pytest.mark.parametrize(("argv", "status"), FAILING)
def test_a_tool_that_fails_in_its_turns_has_its_status_and_the_others_go_on(
    make: Make, argv: tuple[str, ...], status: int
) -> None:
    fake = make(tool="ab", level="c16")
    fake.tool(1)  # ab's status when it is interrupted
    fake.tool(0, NAMES[1], *argv)
    fake.measure()
    ends = [(told["exit_status"], told["turns"]["count"]) for told in map(fake.told, NAMES)]
    assert ends == [(0, 2), (status, 1), (0, 2)]


def test_a_service_that_no_longer_answers_after_its_turns_has_that_in_its_window(make: Make) -> None:
    fake = make(("json", "db-raw"))
    fake.says("after", NAMES[1], "10 no answer in 5 s")
    fake.measure()
    health = [fake.told(name)["health_after"] for name in NAMES]
    assert [one["status"] for one in health] == [200, None, 200]
    assert health[1]["error"] == "measure: no answer in 5 s"


def test_a_request_with_a_body_has_its_file(make: Make) -> None:
    fake = make(method="POST", body='{"a": 1}')
    fake.measure()
    for name in NAMES:
        assert (fake.window() / name / "request-body").read_text() == '{"a": 1}'


def test_a_block_of_which_nothing_is_left_is_not_loaded(fake: Fake) -> None:
    for name in NAMES:
        fake.says("ready", name, "10 no answer")
    fake.measure()
    assert not any(fake.loaded())


SLOW = {
    "quick": (1000, 16, 1.0),
    "just enough": (32, 16, 1.0),
    "slow": (8, 16, 4 * 16 / (8 * 2)),
    "few connections": (18, 1, 1.5 * LEAST_SUCCESSES / (18 * 2)),
    "at the limit": (1, 37, 4.0),
    **{"not known": (None, 16, 1.0), "none": (0, 16, 1.0)},
}


@pytest.mark.parametrize("how", SLOW)
def test_a_slow_service_is_loaded_for_longer(how: str) -> None:
    warmed, connections, seconds = SLOW[how]
    line = planned_of(block(1, STACKS)[0] | {"connections": connections, "warmup_s": 1.0})
    assert seconds_for(line, rate_of(line, warmed, services=4)) == pytest.approx(seconds)


@pytest.mark.parametrize(("slowest_s", "turn_s"), [(0.0, 0.04), (0.01, 0.04), (0.1, 0.2), (9.0, 0.36)])
def test_turns_span_the_answers_of_the_slowest_service_but_gunicorn_waits_two_seconds(
    slowest_s: float, turn_s: float
) -> None:
    assert turn_s_for(0.04, slowest_s, services=4) == pytest.approx(turn_s)


@pytest.mark.parametrize(("answer_s", "seconds"), [(None, 0.02), (0.001, 0.02), (0.1, 0.3), (9.0, 0.5)])
def test_a_service_is_quiet_when_it_has_done_nothing_for_longer_than_an_answer(
    answer_s: float | None, seconds: float
) -> None:
    assert quiet_s(answer_s, connections=2) == pytest.approx(seconds)


def test_a_window_that_noise_spoiled_is_taken_again_with_the_same_services(make: Make, monkeypatch: Patch) -> None:
    fake = make(("json", "delay-20"))
    told = [True, False, False]
    monkeypatch.setattr("bench.load.in_turns.Retries.wanted", lambda *_: told.pop(0))
    fake.measure()
    assert told == []
    first, second = (fake.run / f"raw/r01/b1/json/wrk-c16/{name}" for name in ("w1.spoiled-1", "w1"))
    for name in NAMES:
        assert (first / name / "tool.json").exists() and (second / name / "tool.json").exists()
    assert all(fake.loaded("delay-20"))
    assert fake.asked().count(f"prepare {NAMES[0]}") == 2, "they are warm"


def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses whose connections are asked for from now on."""
    peers = list[tuple[str, int]]()
    monkeypatch.setattr(turns_module, "connections_to", lambda peer: peers.append(peer) or Connections(0))
    return peers


def test_a_server_that_already_runs_is_asked_where_it_is_and_has_no_counters(fake: Fake, monkeypatch: Patch) -> None:
    lines = [line | ({"url": "http://127.0.0.1:8000"} if line["service"] == NAMES[1] else {}) for line in fake.lines]
    write_step(fake.run, one_step(lines))
    (fake.run / CONTAINERS).write_text(json.dumps({n: [f"/{n}"] for n in (NAMES[0], NAMES[2], "postgres")}))
    address_of, wanted, peers = Mock(return_value="127.0.0.1"), Mock(return_value=False), watched(monkeypatch)
    monkeypatch.setattr(block_module, "address_of", address_of)
    monkeypatch.setattr("bench.load.in_turns.Retries.wanted", wanted)
    fake.tool(0, "127.0.0.1")
    fake.measure()
    assert address_of.mock_calls == [call(NAMES[0]), call("127.0.0.1"), call(NAMES[2])]
    assert set(peers) == {("127.0.0.1", 8080), ("127.0.0.1", 8000)}
    told = fake.told(NAMES[1])
    assert told["turns"]["missing"] == {NAMES[1]: "no counters: not a container of this project"}
    assert NAMES[1] not in told["turns"]["cpu_ns"] and fake.told(NAMES[0])["turns"]["missing"] == {}
    # Its CPU use, which is not counted, would look like noise, so noise counts only for the other two.
    assert [len(taken) for _, taken, _ in (one.args for one in wanted.mock_calls)] == [2]


def test_a_service_with_a_published_port_is_watched_there(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake.run / "addresses.tsv").write_text(f"{NAMES[1]}\t127.0.0.1:21003\n")
    write_step(fake.run, one_step(fake.lines))
    peers = watched(monkeypatch)
    fake.tool(0, "127.0.0.1")
    fake.measure()
    assert set(peers) == {("127.0.0.1", 8080), ("127.0.0.1", 21003)}


def test_a_window_in_which_the_clock_was_set_is_loaded_again(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """wrk and ab measure latency by the time of day."""
    # Each reading takes a millisecond; the clock is set between the two of the first window.
    readings, ahead = count(0, 10**6), chain([0], repeat(3600 * 10**9))
    clocks = {"time_ns": lambda: next(readings) + next(ahead), "monotonic_ns": lambda: next(readings)}
    monkeypatch.setattr(block_module, "time", SimpleNamespace(**clocks))
    fake.measure()
    window = fake.window().parent
    assert sorted(path.name for path in window.iterdir()) == ["w1", "w1.clock-1"]
    (set_aside,) = (json.loads(path.read_text()) for path in window.glob(f"w1.clock-1/{NAMES[0]}/tool.json"))
    assert set_aside["end_ns"] - set_aside["start_ns"] - set_aside["elapsed_ns"] == 3600 * 10**9
    told = fake.told(NAMES[0])
    assert told["end_ns"] - told["start_ns"] == told["elapsed_ns"]


def test_a_clock_that_is_always_set_does_not_keep_a_window_for_ever(fake: Fake, monkeypatch: Patch) -> None:
    backwards = iter(range(10**18, 0, -(10**12)))
    monkeypatch.setattr(block_module.time, "time_ns", lambda: next(backwards))
    fake.measure()
    window = fake.window().parent
    assert sorted(path.name for path in window.iterdir()) == ["w1", "w1.clock-1", "w1.clock-2"]
    assert fake.ended(NAMES[0])[0] == "0"


@pytest.mark.parametrize(("late", "again"), [(0, 0), (1, 1), (9, 2)])
def test_a_window_whose_responses_came_after_its_turns_is_loaded_again_and_waits_for_them(
    late: int, again: int, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, rests, real = make(), list[float](), block_module.run_window

    def run_window(runners: Sequence[Runner], *args: Any, **options: Any) -> dict[str, Turns]:
        rests.append(runners[0].rest_s)
        taken = real(runners, *args, **options)
        if len(rests) <= late:
            taken[runners[0].service].late = taken[runners[0].service].count
            taken[runners[0].service].rest_s = 0.07
        return taken

    monkeypatch.setattr(block_module, "run_window", run_window)
    fake.measure()
    window = fake.window().parent
    assert len([*window.glob("w1.late-*")]) == again
    assert not [*window.glob("w1.spoiled-*")], "noise on the host did not do it"
    assert rests == [0.0, *[0.07] * again]


def test_a_full_disk_ends_the_block_before_a_window_is_whole(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(block_module, "check_room", Mock(side_effect=full))
    assert "No space left" in str(refused(OSError, fake.measure)) and not any(fake.loaded())
