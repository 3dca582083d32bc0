"""A server with known behaviour under each event, with the real client over 127.0.0.1: records show what it did.

The counts that the server prints and those in the event's record are the same.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from asked import asked
from known_server import RATE, happened, serving, wrong

import bench.events.exhausted.known
import bench.events.idle_close.load
import bench.load.event
import bench.records.event_window
from bench.cli.verify import LATE, PASSED, verify_verb
from bench.events.exhausted.cases import IN_POOL, steps_of
from bench.events.idle_close.cases import HELD
from bench.events.rolling.words import BAD_STATUS
from bench.load.client import Client, Request
from bench.plan.event import SLOWER_S, Event, Needs, Phase
from bench.plan.events import EVENTS, cases_of
from bench.records.event import EventRecord, Fate
from bench.records.event_window import read_log
from bench.tools.sockets import REQUESTS
from calibration.checks import Known, behind_s
from driver.messages import Action

KNOWN = Known(drops=7, back_s=0.5, exit_s=0.5, slow=20, stall_s=1.5, idle_s=3.7)
AT_S, FIRST = 1.0, 1
"""When the action is done; and the request that checks whether the server is up."""
LONGEST_S = 30.0
"""Ends a load whose event does not end, or that has no calm seconds on a busy machine."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driver.steps.rolling.OBEYS_S", LONGEST_S)


def short(name: str, signal: str = "") -> Event:
    """The planned event with this name, which ends in seconds, except on a busy machine."""
    (event,) = cases_of(name)
    actions = tuple(replace(one, at_s=AT_S) for one in event.actions)
    if signal:
        actions = (Action(AT_S, "signal", signal, "main"),)
    phases = (Phase(event.phases[0].share, LONGEST_S),)
    return replace(event, phases=phases, actions=actions, settle_s=0.5, timeout_s=LONGEST_S)


def test_a_pool_whose_places_are_all_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.load.event, "BEFORE_S", 0.5)
    monkeypatch.setattr(bench.events.exhausted.known, "HOLD_S", 0.6)
    (case,) = (one for one in EVENTS["exhausted"].cases if one.case == IN_POOL)
    needs = Needs(timeout_s=5.0, path="/held/600", steps=steps_of(3), step_s=1.6, places=3)
    event = replace(case, needs=needs, phases=(Phase(0.3, 0.5 + 1.6 * len(needs.steps)),), timeout_s=0.3)
    record, _ = happened(tmp_path, event, replace(KNOWN, places=3))
    assert not wrong(record, replace(KNOWN, places=3))
    assert (record.extras["failing_k"], record.extras["needs_sent"]) == (3, 15)


@pytest.mark.parametrize(("path", "happens"), [("/?duration=2000", True), ("/plaintext", False)])
def test_clients_that_give_up_keep_no_others_waiting(tmp_path: Path, path: str, happens: bool) -> None:
    (case,) = EVENTS["abandoned"].cases
    assert case.needs and case.needs.path == "/?duration=2000"
    # With other responses, which come in time, nobody gives up.
    needs = replace(case.needs, path=path, timeout_s=case.needs.timeout_s if happens else LONGEST_S)
    record, _ = happened(tmp_path, replace(case, needs=needs, phases=(Phase(0.3, 3.0),), timeout_s=LONGEST_S), KNOWN)
    assert bool(wrong(record, KNOWN)) is not happens and record.happened is happens
    assert (record.lost, record.extras["needs_sent"], record.extras["needs_lost"]) == (0, 30, 30 * happens)


@pytest.mark.parametrize("case", EVENTS["stop-streams"].cases, ids=lambda case: str(case.case))
def test_streams_of_which_some_are_told_that_they_end(tmp_path: Path, case: Event) -> None:
    (stop,) = case.actions
    phases = (Phase(0.3, LONGEST_S),)
    event = replace(case, actions=(replace(stop, at_s=2 * AT_S),), phases=phases, settle_s=0.5, timeout_s=LONGEST_S)
    record, _ = happened(tmp_path, event, replace(KNOWN, untold=3))
    assert record.extras["streams"] == 64 and not wrong(record, replace(KNOWN, untold=3))
    assert wrong(record, replace(KNOWN, untold=4))


@pytest.mark.parametrize("name", ["reload-keep-alive", "reload-new-connections"])
def test_a_reload_that_loses_exactly_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # Only lost requests count as disturbed, not those that a busy machine delays.
    monkeypatch.setattr(bench.records.event_window, "SLOWER_S", 10.0)
    record, told = happened(tmp_path, short(name, "HUP"), KNOWN)
    assert not wrong(record, KNOWN)
    assert (record.lost, record.fates[Fate.RESET], told["resets"]) == (7, 7, 7)
    assert told["received"] == FIRST + (record.sent or 0) and told["answered"] == FIRST + record.answered
    # On a busy machine, the lost ones may have been due before the reload, or more than a second after it.
    (log,) = (read_log(path.read_bytes()) or () for path in tmp_path.rglob(REQUESTS))
    lost_s = [row.due - record.actions[0].at_s for row in log if row.fate is Fate.RESET]
    assert record.recovered_s == 1 + math.floor(max(-1.0, *lost_s))


def test_a_reload_that_loses_nothing(tmp_path: Path) -> None:
    known = replace(KNOWN, drops=0)
    event = replace(short("reload-new-connections", "HUP"), environment={"BOOT_S": "0.5"})
    record, told = happened(tmp_path, event, known)
    assert not wrong(record, known)
    assert (record.lost, told["resets"]) == (0, 0) and told["received"] == FIRST + (record.sent or 0)


def test_one_more_that_is_dropped_is_seen(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, short("reload-new-connections", "HUP"), replace(KNOWN, drops=8))
    assert [(one.what, one.measured) for one in wrong(record, KNOWN)] == [
        ("lost requests", "8"),
        ("of these, reset", "8"),
    ]


def test_a_request_that_the_client_loses_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgets(list[Request]):
        begun = 0

        def append(self, request: Request) -> None:
            self.begun += 1
            if self.begun != 50:
                super().append(request)

    class Losing(Client):
        def __init__(self, *words: object) -> None:
            super().__init__(*words)  # type: ignore[arg-type]
            self.log = Forgets()

    monkeypatch.setattr(bench.load.event, "Client", Losing)
    record, _ = happened(tmp_path, short("reload-new-connections", "HUP"), KNOWN)
    assert [one.what for one in wrong(record, KNOWN)] == ["requests in the log"]


def test_what_is_under_way_at_sigterm_is_cut(tmp_path: Path) -> None:
    record, told = happened(tmp_path, short("stop"), KNOWN)
    assert not wrong(record, KNOWN)
    after = record.extras.get("reset_after", 0)
    assert isinstance(after, int) and record.fates[Fate.RESET] + after >= told["resets"]
    # Those that a busy server has not accepted yet, it cannot count.
    assert told["resets"] + behind_s(record) * RATE >= record.lost >= 1
    assert record.extras["refused_after"]


def test_a_killed_worker_takes_along_what_it_has_and_the_rest_waits(tmp_path: Path) -> None:
    record, told = happened(tmp_path, short("killed"), KNOWN)
    assert not wrong(record, KNOWN)
    assert told["answered"] < record.answered
    # If the client waits for a CPU, responses are slow before and after, too.
    assert record.recovered_s == 1.0 or behind_s(record) > SLOWER_S


def test_slow_connections_stop_service_and_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.load.event, "BEFORE_S", 0.5)
    silent = EVENTS["slow"].cases[0]
    event = replace(
        silent, phases=(Phase(0.3, 6.5),), slow_steps=(19, 20), slow_step_s=1.8, timeout_s=0.4, most_rate=RATE
    )
    record, told = happened(tmp_path, event, KNOWN)
    assert not wrong(record, KNOWN)
    assert (record.extras["smallest_k"], record.extras["cut"]) == (20, 20) and told["resets"] == 0
    assert record.fates.keys() == {Fate.ANSWERED, Fate.TIMED_OUT}


def test_it_keeps_the_contract_and_so_is_measured(tmp_path: Path) -> None:
    with serving(tmp_path, KNOWN, {}) as (_, port):
        words = ["--service", "known", "--base-url", f"http://127.0.0.1:{port}", "--routes", "delay,plaintext"]
        assert verify_verb(words) in (PASSED, LATE)


@pytest.mark.parametrize(("late_s", "calm"), [(0.05, True), (0.3, False)])
def test_answers_that_come_late_are_not_as_before(late_s: float, calm: bool) -> None:
    now = time.monotonic_ns()
    client = Client(asked(1))
    for ago_s in (2.5, 1.9, 1.2):
        due = now - round(ago_s * 1e9)
        client.log.append(Request(due, end_ns=due + round(late_s * 1e9), fate=Fate.ANSWERED))
    assert client.is_calm() and client.is_calm(0.15) == calm


def statuses(record: EventRecord) -> int:
    """How many bad statuses the proxy has sent, according to its log."""
    return sum(int(count or 0) for name, count in record.extras.items() if BAD_STATUS.fullmatch(name))


@pytest.mark.parametrize("proxy", ["nginx", "haproxy"])
def test_a_container_that_is_out_of_the_proxy_before_it_ends_costs_nothing(tmp_path: Path, proxy: str) -> None:
    record, told = happened(tmp_path, short(f"rolling-behind-{proxy}-pre-stop-3-s"), KNOWN)
    assert record.happened and (record.lost, told["resets"], statuses(record)) == (0, 0, 0), record.extras
    for number in (1, 2):
        # The container ends after exit_s, and the next one answers later.
        assert KNOWN.exit_s <= float(record.extras[f"exit_{number}_s"] or 0) < record.actions[number - 1].took_s


@pytest.mark.parametrize(("proxy", "more"), [("nginx", ""), ("haproxy", ""), ("haproxy", "-by-systemd")])
def test_what_a_container_cuts_behind_a_proxy_is_accounted_for(tmp_path: Path, proxy: str, more: str) -> None:
    record, told = happened(tmp_path, short(f"rolling-behind-{proxy}{more}"), KNOWN)
    assert [one.what.startswith("SIGTERM to every process") for one in record.actions] == [bool(more)] * 2
    assert record.happened and told["resets"] > 0
    assert record.fates.get(Fate.STATUS_503, 0) + record.fates.get(Fate.OTHER_STATUS, 0) == statuses(record)
    # If the connection to the container was kept, HAProxy closes without a status, so that the client retries.
    cut = record.fates.get(Fate.RESET, 0) + int(record.extras.get("proxy_502") or 0)
    seen = int(record.extras["cause_reset"] or 0) if proxy == "nginx" else cut
    # A request that arrives just as a worker ends is not counted by any worker.
    assert told["resets"] <= seen <= told["resets"] + 2 + behind_s(record) * RATE


def test_a_request_as_the_server_closes_its_connection_is_lost_and_each_is_accounted_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.events.idle_close.load, "OPENED_S", 4.0)
    event = EVENTS["idle-close"].cases[0]
    known = replace(KNOWN, idle_s=1.5)
    record, told = happened(tmp_path, event, known)
    idle, used, closed = (record.extras[name] for name in ("idle_least_s", "used", "seen_closed"))
    assert isinstance(idle, float) and isinstance(used, int) and isinstance(closed, int)
    # The client may see late that a response is complete, or that a connection is closed.
    most, late = float(record.extras["idle_most_s"] or 0), 0.1 + behind_s(record)
    assert known.idle_s - late <= idle <= most <= known.idle_s + 0.1 + late
    assert record.lost == record.fates[Fate.RESET] > 0 and record.sent == used
    # A client that waits for a CPU drops connections whose time has passed; the server closes these, too.
    seen = HELD + record.lost + closed
    assert told["idled"] == seen or ((record.late_p99_s or 0) > 0.01 and told["idled"] > seen)
    assert told["answered"] == FIRST + HELD + used + closed + record.answered


def test_connections_that_the_server_keeps_are_not_waited_for(tmp_path: Path) -> None:
    event = EVENTS["idle-close"].cases[0]
    record, told = happened(tmp_path, replace(event, idle_most_s=0.5), replace(KNOWN, idle_s=90))
    assert (record.sent, record.lost, record.extras["held"], told["idled"]) == (HELD, 0, HELD, 0)
    assert "idle_s" not in record.extras


def test_a_container_that_was_away_for_long_is_back_before_the_next_one_leaves(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, short("rolling-behind-haproxy-pre-stop-3-s"), replace(KNOWN, exit_s=9.0))
    log = next(tmp_path.rglob("proxy.log")).read_text()
    assert "Server service/s1 is DOWN, reason" in log and (record.lost, statuses(record)) == (0, 0)
