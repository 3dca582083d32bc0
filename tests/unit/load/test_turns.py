"""Turns: one tool at a time, waiting for requests in flight, and counters for each service's own turns."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from captured import Patch
from simulated_clock import SimulatedClock
from waiting import HANGS_S, IS_UP, tools_are_up_in_their_turns, until

from bench.load import sockets as sockets_module
from bench.load import turns as turns_module
from bench.load.cpu_counters import CpuCounters, Reading
from bench.load.held import HeldTool
from bench.load.sockets import OPENING_BYTES, Connections, Traffic, connections_to, traffic
from bench.load.turns import FROZEN, INTERRUPTED, LEAST_REST_S, LONG, SHORT, Runner, Turns, run_window
from bench.records.turns import RAN, WAITED

COUNTS = f"""
n=0
trap 'echo "$n"; exit 3' INT
{IS_UP}
while :; do n=$((n + 1)); sleep 0.01; done
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open("/proc/self/comm", "w").write("up")
while True:
    time.sleep(1)
"""


NOWHERE = ("127.0.0.1", 9)
Listener, Peer = socket.socket, tuple[str, int]


class Ticks:
    """Counters that grow by a known amount with each reading."""

    def __init__(self) -> None:
        self.readings = 0
        self.missing: dict[str, str] = {}

    def cpu_ns(self, name: str) -> int:
        return 0

    def read(self, *names: str) -> Reading:
        self.readings += 1
        return Reading(dict.fromkeys((*names, "loadgen"), 7 * self.readings), (self.readings,) * 8)


class Frozen:
    """A freezer that freezes nothing, but says that it does, except for some services; `asked` has its requests."""

    def __init__(self, *refused: str, threads_ns: tuple[int, int] | None = None) -> None:
        self.refused = refused
        self.asked: list[tuple[str, ...]] = []
        self.thawed = 0
        self.threads_ns = threads_ns
        self.readings = 0

    def ran_and_waited_ns(self, service: str) -> tuple[int, int] | None:
        """Times of threads that grow by `threads_ns` with each reading."""
        self.readings += 1
        return self.threads_ns and (self.readings * self.threads_ns[0], self.readings * self.threads_ns[1])

    @contextmanager
    def frozen(self, services: Sequence[str]) -> Iterator[frozenset[str]]:
        self.asked.append(tuple(services))
        try:
            yield frozenset(services) - frozenset(self.refused)
        finally:
            self.thawed += 1


class Switch:
    """A freezer that notes what it freezes (`-`) and thaws (`+`), and whether the service's tool runs then."""

    def __init__(self, tools: Mapping[str, HeldTool]) -> None:
        self.tools, self.log = tools, list[str]()

    def ran_and_waited_ns(self, service: str) -> None:
        return None

    def _note(self, sign: str, services: Sequence[str]) -> None:
        for name in sorted(services):
            held = self.tools[name]
            runs = held.status is None and state(held._process.pid) not in "Tt"
            self.log.append(f"{sign}{name}{'!' * runs}")

    @contextmanager
    def frozen(self, services: Sequence[str]) -> Iterator[frozenset[str]]:
        self._note("-", services)
        yield frozenset(services)
        self._note("+", services)

    @contextmanager
    def thawed(self, services: Sequence[str]) -> Iterator[None]:
        self._note("+", services)
        yield
        self._note("-", services)


def run(runners: list[Runner], counters: Ticks, shared: list[str], **options: Any) -> dict[str, Turns]:
    """Run a window; unless told otherwise, tools end while their services are frozen."""
    options = {"freezer": Frozen(), "rng": random.Random(1)} | options
    return run_window(runners, counters, shared, **options)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools are up in their turns, and no service has a request under way."""
    tools_are_up_in_their_turns(monkeypatch)
    monkeypatch.setattr(turns_module, "connections_to", lambda peer: Connections(0))


def tool(path: Path, code: str = "") -> HeldTool:
    return HeldTool([sys.executable, "-c", code] if code else ["sh", "-c", COUNTS], path)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_tool_does_nothing_before_its_first_turn(tmp_path: Path) -> None:
    with tool(tmp_path / "out", "print('began')") as held:
        time.sleep(0.1)
        assert (tmp_path / "out").read_text() == ""
        held.resume()
        until((tmp_path / "out").read_text)
    assert (tmp_path / "out").read_text() == "began\n"


def test_a_tool_is_told_to_end_and_prints_its_result(tmp_path: Path) -> None:
    with tool(tmp_path / "out") as held:
        held.resume()
        held.hold()
        assert held.status is None
        held.interrupt()
        assert held.end() == 3
    assert (tmp_path / "out").read_text().strip().isdecimal()


def test_a_tool_that_does_not_end_is_killed_and_none_outlives_its_window(tmp_path: Path) -> None:
    with tool(tmp_path / "out", STUBBORN) as held:
        held.resume()
        held.interrupt()
        assert held.end(patience_s=0.2) == -signal.SIGKILL
    with tool(tmp_path / "other", STUBBORN) as left:
        pid = left._process.pid
    assert left.status == -signal.SIGKILL and not Path(f"/proc/{pid}").exists()


def test_a_tool_of_which_a_sleeping_thread_missed_the_interrupt_is_interrupted_again(tmp_path: Path) -> None:
    # Ends at its second SIGINT, like wrk if the first one went to another thread than the sleeping one.
    script = """
import signal, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
open("/proc/self/comm", "w").write("up")
while len(seen) < 2:
    time.sleep(0.05)
print("whole")
"""
    with tool(tmp_path / "out", script) as held:
        held.resume()
        held.interrupt()
        assert held.end() == 0
    assert (tmp_path / "out").read_text() == "whole\n"


def test_only_one_tool_runs_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {name: tool(tmp_path / name) for name in "abc"}
    seen, real = list[list[str]](), time.sleep
    # Not 0.05, because subprocess itself sleeps for 0.05 s while a tool ends.
    turn_s = 0.051

    def look(seconds: float) -> None:
        real(seconds)
        if seconds in (turn_s * LONG, turn_s * SHORT):
            seen.append([n for n in tools if tools[n].status is None and state(tools[n]._process.pid) not in "Tt"])

    monkeypatch.setattr(turns_module.time, "sleep", look)
    runners = [Runner(name, held, NOWHERE, seconds=0.2) for name, held in tools.items()]
    taken = run(runners, Ticks(), ["db"], turn_s=turn_s)
    assert len(seen) == 12 and all(len(running) == 1 for running in seen), seen
    for name, turns in taken.items():
        assert sum(running == [name] for running in seen) == turns.count == 4
        # There is a reading before and after each turn.
        assert (turns.cpu_ns, turns.host_ticks) == ({name: 28, "db": 28, "loadgen": 28}, [4] * 8)
        assert turns.load_ns >= 4 * turn_s * 1e9
        # Long and short turns alternate, and for neighbours the other way round.
        assert [turn.long for turn in turns.each] in ([True, False] * 2, [False, True] * 2)
        assert all(turn.load_ns >= turn_s * (LONG if turn.long else SHORT) * 1e9 for turn in turns.each)
        assert tools[name].status == 3
    assert taken.keys() == tools.keys()


def test_a_slow_service_has_more_turns(tmp_path: Path) -> None:
    quick, slow = (Runner(name, tool(tmp_path / name), NOWHERE, seconds=s) for name, s in (("a", 0.1), ("b", 0.4)))
    taken = run([quick, slow], Ticks(), [], turn_s=0.1)
    assert (taken["a"].count, taken["b"].count) == (1, 4)


def test_a_tool_that_has_ended_gets_no_more_turns(tmp_path: Path) -> None:
    runner = Runner("a", tool(tmp_path / "a", "raise SystemExit(5)"), NOWHERE, seconds=0.4)
    other = Runner("b", tool(tmp_path / "b"), NOWHERE, seconds=0.4)
    taken = run([runner, other], Ticks(), [], turn_s=0.1)
    assert runner.tool.status == 5 and taken["a"].count < taken["b"].count == 4


def test_all_tools_end_while_their_services_are_frozen(tmp_path: Path) -> None:
    freezer = Frozen()
    runners = [Runner(name, tool(tmp_path / name), NOWHERE, seconds=0.2) for name in ("a", "b")]
    taken = run(runners, Ticks(), [], turn_s=0.1, freezer=freezer)
    assert [sorted(names) for names in freezer.asked] == [["a", "b"]] and freezer.thawed == 1
    assert {turns.end for turns in taken.values()} == {FROZEN}
    assert [runner.tool.status for runner in runners] == [3, 3]


def test_a_service_that_goes_on_by_itself_is_frozen_between_its_turns(tmp_path: Path) -> None:
    tools = {name: tool(tmp_path / name) for name in ("a", "b")}
    freezer = Switch(tools)
    runners = [Runner(name, held, NOWHERE, seconds=0.2, quiet=False) for name, held in tools.items()]
    taken = run(runners, Ticks(), [], turn_s=0.1, freezer=freezer)
    first, second = ("a", "b") if freezer.log[2] == "+a!" else ("b", "a")
    # It is thawed after its tool runs, and frozen before that is stopped, so that the tool reads all that it has sent.
    turns = [f"{sign}{name}!" for name in 2 * (first, second) for sign in "+-"]
    assert freezer.log[:10] == ["-a", "-b", *turns] and freezer.log[-2:] == ["+a", "+b"]
    assert {(one.count, one.end, one.drain_ns) for one in taken.values()} == {(2, FROZEN, 0)}


def test_services_are_thawed_where_a_tool_cannot_be_ended(tmp_path: Path, monkeypatch: Patch) -> None:
    freezer = Frozen()
    monkeypatch.setattr(HeldTool, "interrupt", Mock(side_effect=OSError("gone")))
    with tool(tmp_path / "a") as held, pytest.raises(OSError, match="gone"):
        run([Runner("a", held, NOWHERE, seconds=0.1)], Ticks(), [], turn_s=0.1, freezer=freezer)
    assert freezer.thawed == 1


@pytest.mark.parametrize("freezer", [None, Frozen("a")], ids=["no freezer", "cannot be frozen"])
def test_without_a_freezer_time_and_counters_run_until_the_tool_ends(tmp_path: Path, freezer: Frozen | None) -> None:
    lingers = f"trap 'sleep 0.2; exit 0' INT; {IS_UP}; while :; do sleep 0.01; done"
    held = HeldTool(["sh", "-c", lingers], tmp_path / "a")
    taken = run([Runner("a", held, NOWHERE, seconds=0.2)], Ticks(), [], turn_s=0.1, freezer=freezer)["a"]
    # With a freezer, it has had all its turns by then and gets one more, in which it ends.
    assert (taken.end, taken.count) == (INTERRUPTED, 3 if freezer else 2)
    assert taken.load_ns + taken.drain_ns >= 0.4e9, "the tool's last 0.2 s are in the window"
    assert taken.cpu_ns["a"] == 7 * taken.count


def test_how_long_the_services_threads_waited_for_a_cpu_is_read_around_each_turn(tmp_path: Path) -> None:
    runners = [Runner(name, tool(tmp_path / name), NOWHERE, seconds=0.2) for name in ("a", "b")]
    for turns in run(runners, Ticks(), [], turn_s=0.1, freezer=Frozen(threads_ns=(5, 3))).values():
        assert turns.count == 2 and (turns.cpu_ns[RAN], turns.cpu_ns[WAITED]) == (10, 6)


def test_a_host_that_does_not_tell_leaves_it_out(tmp_path: Path) -> None:
    taken = run([Runner("a", tool(tmp_path / "a"), NOWHERE, seconds=0.2)], Ticks(), [], turn_s=0.1)["a"]
    assert not {RAN, WAITED} & taken.cpu_ns.keys()


def test_a_tool_that_waits_for_its_responses_is_not_ended_frozen(tmp_path: Path) -> None:
    freezer = Frozen()
    runner = Runner("a", tool(tmp_path / "a"), NOWHERE, seconds=0.2, ends_frozen=False)
    assert run([runner], Ticks(), [], turn_s=0.1, freezer=freezer)["a"].end == INTERRUPTED
    assert freezer.asked == []


@pytest.fixture
def listener() -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def peer(listener: Listener) -> Peer:
    """The listener's address."""
    address: Peer = listener.getsockname()
    return address


def test_a_request_is_under_way_until_its_answer_has_come(listener: Listener, peer: Peer) -> None:
    assert connections_to(peer).waiting == 0
    with socket.create_connection(peer) as client, listener.accept()[0] as accepted:
        client.sendall(b"GET")
        assert connections_to(peer).waiting == 1
        accepted.sendall(b"200")
        assert connections_to(peer).waiting == 0, "the answer waits in the stopped tool's queue"


def test_what_arrived_is_counted_without_the_packets_headers(listener: Listener, peer: Peer) -> None:

    def counted() -> Traffic:
        before = traffic()
        for _ in range(20):
            with socket.create_connection(peer) as client, listener.accept()[0] as accepted:
                client.sendall(bytes(100))
                accepted.recv(100)
                accepted.sendall(bytes(900))
                client.recv(900)
        after = traffic()
        return Traffic(after.opened - before.opened, after.octets - before.octets)

    # Here both sides of each connection receive the packet that opens it. Other programs on this machine send, too, but
    # not all the time.
    assert any(counted() == (20, 20 * (1000 + OPENING_BYTES)) for _ in range(200))


def test_the_connections_that_were_opened_in_its_turns_are_counted(tmp_path: Path, monkeypatch: Patch) -> None:
    # 7 connections and 900 bytes in each turn, and as many between turns.
    seen = (Traffic(7 * number, 900 * number) for number in range(100))
    monkeypatch.setattr(turns_module, "traffic", lambda: next(seen))
    # With a freezer the tool ends after its last turn, else within it.
    for freezer in (Frozen(), None):
        runner = Runner("a", tool(tmp_path / "a"), NOWHERE, seconds=0.2)
        taken = run([runner], Ticks(), [], turn_s=0.1, freezer=freezer)["a"]
        assert (taken.opened, [turn.octets for turn in taken.each]) == (14, [900, 900])


def test_what_a_server_says_when_a_connection_opens_is_none_of_its_responses(tmp_path: Path, monkeypatch: Patch) -> None:
    seen = (Traffic(number // 3, 900 * number) for number in range(100))
    monkeypatch.setattr(turns_module, "traffic", lambda: next(seen))
    runner = Runner("a", tool(tmp_path / "a"), NOWHERE, seconds=0.2, opening_bytes=100)
    taken = run([runner], Ticks(), [], turn_s=0.1)["a"]
    assert (taken.opened, [turn.octets for turn in taken.each]) == (1, [900, 800])
    assert "opening_bytes" not in taken.told({})


def test_a_kernel_without_sock_diag_tells_it_too(listener: Listener, peer: Peer, monkeypatch: Patch) -> None:
    monkeypatch.setattr(sockets_module, "_by_sock_diag", Mock(side_effect=OSError(93, "Protocol not supported")))
    test_a_request_is_under_way_until_its_answer_has_come(listener, peer)


def test_a_turn_ends_with_its_last_answer(listener: Listener, peer: Peer, tmp_path: Path, monkeypatch: Patch) -> None:
    asks = f"""
import socket, time
s = socket.create_connection({peer})
s.sendall(b"GET")
open("/proc/self/comm", "w").write("up")
time.sleep({HANGS_S})
"""
    late_s = 0.4

    def answer_late() -> None:
        accepted, _ = listener.accept()
        accepted.recv(3)
        time.sleep(late_s)
        accepted.sendall(b"200")

    monkeypatch.setattr(turns_module, "LONGEST_DRAIN_S", HANGS_S)
    monkeypatch.setattr(turns_module, "connections_to", connections_to)
    thread = threading.Thread(target=answer_late)
    thread.start()
    runner = Runner("a", tool(tmp_path / "a", asks), peer, quiet_s=HANGS_S, seconds=0.1)
    taken = run([runner], Ticks(), [], turn_s=0.1)["a"]
    thread.join()
    # The request was sent after the turn's start, so the response came at the earliest late_s after it.
    assert taken.load_ns + taken.drain_ns >= late_s * 1e9 and taken.drains_cut == 0


class Simulated:
    """Services and their tools at simulated times. `of` has the connections of each peer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = SimulatedClock()
        self.of: dict[tuple[str, int], Callable[[], Connections]] = {}
        monkeypatch.setattr(turns_module, "connections_to", lambda peer: self.of[peer]())
        monotonic = SimpleNamespace(sleep=self.clock.sleep, monotonic=lambda: self.clock.monotonic_ns() / 1e9)
        monkeypatch.setattr(turns_module, "time", monotonic)

    def turns(self, runners: list[Runner], counters: Ticks, turn_s: float) -> Turns:
        """The turns of the first of these services."""
        taken = run(runners, counters, [], turn_s=turn_s, clock=self.clock.monotonic_ns)
        return taken[runners[0].service]


class Dripping:
    """A tool whose requests are each answered with a byte at once, and one more after each of these seconds."""

    status: int | None = None

    def __init__(self, simulated: Simulated, *after_s: float) -> None:
        self.now, self.after_s = simulated.clock.monotonic_ns, after_s
        self.come, self.resumed = list[float](), 0.0
        """When each byte comes; when the tool was resumed."""

    def connections(self) -> Connections:
        return Connections(0, received=sum(at <= self.now() for at in self.come))

    def resume(self) -> None:
        self.resumed = self.now()

    def hold(self) -> None:
        """It asks again 10 ms after a response, except while it is stopped."""
        while (at := max(self.resumed, max(self.come, default=0.0) + 10**7)) <= self.now():
            self.come += accumulate((seconds * 1e9 for seconds in self.after_s), initial=at)

    def interrupt(self) -> None:
        self.status = 0

    def end(self) -> None:
        """It has ended at once."""


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Simulated:
    return Simulated(monkeypatch)


def dripped(simulated: Simulated, *after_s: float, seconds: float, rest_s: float = 0.0) -> Turns:
    """The turns of such a tool, beside another one."""
    runners = []
    for number, name in enumerate("ab"):
        tool = Dripping(simulated, *(after_s if name == "a" else ()))
        peer = ("127.0.0.1", number)
        simulated.of[peer] = tool.connections
        runners.append(Runner(name, tool, peer, seconds=seconds, rest_s=rest_s))  # type: ignore[arg-type]
    return simulated.turns(runners, Ticks(), turn_s=0.4)


def test_a_turn_waits_for_the_rest_of_a_response_that_begins_before_its_end(simulated: Simulated) -> None:
    taken = dripped(simulated, 0.1, 0.1, seconds=1.6, rest_s=0.3)
    assert (taken.count, taken.late, taken.drains_cut) == (4, 0, 0)


def test_what_comes_after_a_turn_is_noticed_and_waited_for_from_then_on(simulated: Simulated) -> None:
    taken = dripped(simulated, 0.02, 0.02, seconds=4.0)
    assert (taken.count, taken.late) == (10, 1) and taken.rest_s >= LEAST_REST_S


def test_a_service_whose_response_never_ends_gets_no_more_turns_and_no_other_window(simulated: Simulated) -> None:
    taken = dripped(simulated, *[0.1] * 300, seconds=8.0)
    assert taken.too_late and not taken.may_wait_longer
    assert taken.count == 4  # of 20


def test_each_wait_in_vain_halves_the_next_until_one_is_in_time(simulated: Simulated) -> None:
    taken = dripped(simulated, *[0.1] * 300, seconds=1.6, rest_s=0.3)
    assert [round(turn.drain_ns / 1e9, 2) for turn in taken.each][:2] == [1.0, 0.5]
    assert Turns(count=3, drains_cut=1).longest_drain_ns == Turns().longest_drain_ns == 10**9


def one_turn(simulated: Simulated, connections: Connections, counters: Ticks | None = None, **runner: float) -> Turns:
    """A single short turn, after which the connections stay like this."""
    simulated.of[NOWHERE] = lambda: connections
    only = Runner("a", Dripping(simulated), NOWHERE, seconds=0.1, **runner)  # type: ignore[arg-type]
    return simulated.turns([only], counters or Ticks(), turn_s=0.1)


def test_a_connection_without_a_request_is_not_waited_for(peer: Peer, simulated: Simulated) -> None:
    with socket.create_connection(peer) as client:
        assert connections_to(peer) == Connections(0, unasked=1)
        client.sendall(b"GET")
        assert connections_to(peer) == Connections(1)
    taken = one_turn(simulated, Connections(0, unasked=1), quiet_s=60.0)
    assert (taken.drain_ns, taken.drains_cut) == (0, 0)


def test_a_service_that_was_quiet_for_long_has_nothing_under_way(simulated: Simulated) -> None:
    taken = one_turn(simulated, Connections(1), quiet_s=0.05)
    # The quiet time itself does not count for the service.
    assert (taken.drain_ns, taken.drains_cut) == (0, 0)


def test_an_answer_that_was_read_is_not_waited_for_again(listener: Listener, peer: Peer) -> None:
    with socket.create_connection(peer) as client, listener.accept()[0] as accepted:
        client.sendall(b"GET")
        # Longer than the resolution of the kernel's clock.
        time.sleep(0.05)
        accepted.sendall(b"200")
        client.recv(3)
        assert connections_to(peer) == Connections(0, received=3), "the next request has not left yet"
        time.sleep(0.05)
        client.sendall(b"GET")
        assert connections_to(peer) == Connections(1, received=3)


@pytest.mark.parametrize(("share", "cut"), [(0.01, 0), (0.5, 1)])
def test_an_idle_server_that_wakes_at_times_has_nothing_under_way(simulated: Simulated, share: float, cut: int) -> None:
    counters = Ticks()
    counters.cpu_ns = lambda _: int(share * simulated.clock.monotonic_ns())  # type: ignore[method-assign]
    taken = one_turn(simulated, Connections(1), counters, quiet_s=0.4)
    assert taken.drains_cut == cut
    assert taken.drain_ns == 0 or cut


def test_a_connection_closed_by_the_server_waits_and_has_received_no_more(listener: Listener, peer: Peer) -> None:
    with socket.create_connection(peer) as client, listener.accept()[0] as accepted:
        client.sendall(b"GET")
        accepted.recv(3)
        accepted.sendall(b"200")
        time.sleep(0.05)
        assert connections_to(peer).received == 3
        accepted.shutdown(socket.SHUT_WR)
        time.sleep(0.05)
        assert connections_to(peer) == Connections(0, unclosed=1, received=3)


def test_a_worker_that_reads_without_a_request_is_not_waited_for(peer: Peer, simulated: Simulated) -> None:
    with socket.create_connection(peer), socket.create_connection(peer) as other:
        other.sendall(b"GET")
        connections = connections_to(peer)
    assert connections == Connections(1, unasked=1)
    assert one_turn(simulated, connections, quiet_s=60.0, one_quiet_s=0.05).drains_cut == 0


def test_a_service_that_never_answers_is_given_up(simulated: Simulated) -> None:
    taken = one_turn(simulated, Connections(1), quiet_s=60.0)
    assert taken.drains_cut == 1
    assert taken.drain_ns == pytest.approx(turns_module.LONGEST_DRAIN_S * 1e9, rel=0.01)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_counters_of_both_cgroup_versions(tmp_path: Path, version: str) -> None:
    root, own, stat = tmp_path / "host", tmp_path / "own", tmp_path / "stat"
    stat.write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0\n")
    containers = ((root / "docker/abc", 5000), (own if version == "v2" else own / "cpuacct", 9000))
    # cgroup v2 counts the root in ticks; its direct children are exact.
    tasks = ((root, 1000), (root / "docker", 6000), (root / "user.slice", 2000)) if version == "v2" else ((root, 8000),)
    for folder, ns in (*containers, *tasks):
        folder.mkdir(parents=True, exist_ok=True)
        name = "cpu.stat" if version == "v2" else "cpuacct.usage"
        text = f"usage_usec {ns // 1000}\nuser_usec 1\n" if version == "v2" else f"{ns}\n"
        (folder / name).write_text(text)
    counters = CpuCounters({"a": "/docker/abc", "gone": "/docker/gone"}, root, own, stat)
    assert counters.read("a", "gone") == Reading({"a": 5000, "loadgen": 9000, "host": 8000}, (1, 2, 3, 4, 5, 6, 7, 8))
    assert counters.missing.keys() == {"gone"}


def test_time_on_the_servers_cpus_is_known_by_cpu(tmp_path: Path) -> None:
    root, own, stat = tmp_path / "host/cpuacct", tmp_path / "own", tmp_path / "stat"
    stat.write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0\n")
    for folder, each in ((root, "100 70 9"), (root / "docker/abc", "60 0 1"), (own / "cpuacct", "5 50 0")):
        folder.mkdir(parents=True)
        (folder / "cpuacct.usage").write_text(f"{sum(map(int, each.split()))}\n")
        (folder / "cpuacct.usage_percpu").write_text(f"{each} \n")
    used = CpuCounters({"a": "/docker/abc"}, root, own, stat, server_cpus=(0, 2)).read("a").cpu_ns
    assert (used["server CPUs"], used["ours on server CPUs"]) == (109, 66)
    assert "server CPUs" not in CpuCounters({"a": "/docker/abc"}, root, own, stat).read("a").cpu_ns


def test_cgroup_v2_has_no_time_by_cpu_but_the_kernel_does(tmp_path: Path) -> None:
    root, own, stat = tmp_path / "host", tmp_path / "own", tmp_path / "stat"
    # user, nice, system, idle, iowait, irq, softirq, steal
    stat.write_text("cpu  9 9 9 9 9 9 9 9\ncpu0 10 1 5 900 3 1 2 7\ncpu1 90 0 0 0 0 0 0 0\ncpu2 4 0 0 900 0 0 0 0\n")
    for folder, used in ((root / "docker/abc", 140_000), (root / "docker", 200_000), (own, 50_000)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.stat").write_text(f"usage_usec {used}\n")
    used = CpuCounters({"a": "/docker/abc"}, root, own, stat, server_cpus=(0, 2)).read("a").cpu_ns
    assert (used["server CPUs"], used["ours on server CPUs"]) == (230_000_000, 140_000_000)
    assert "server CPUs" not in CpuCounters({"a": "/docker/abc"}, root, own, stat, server_cpus=(0, 3)).read("a").cpu_ns


def test_the_real_counters_grow_with_work() -> None:
    counters = CpuCounters({})
    assert "loadgen" not in counters.missing
    before = counters.read().cpu_ns["loadgen"]
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert counters.read().cpu_ns["loadgen"] - before > 1_000_000
