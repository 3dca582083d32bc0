"""A service with known behaviour, with exhausted threads or a dependency that is down: the record shows what it did.

Client, driver, raw files and record are real; the service is a thread here.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from known_server import OnThisMachine, under_event

import bench.load.event
from bench.plan.event import Event, Needs, Phase
from bench.plan.events import EVENTS
from bench.records.event import EventRecord, Fate
from driver.docker import DockerError
from driver.messages import Action

HOLD_S, STEP_S, PLACES = 1.2, 2.8, 5
SENT = 125
"""Requests that need the dependency, in two and a half seconds."""
HEALTH = b"Hello, World!"


class Service:
    """`/held`, and if asked for `/health`, take one of its places; `/needs` fails while its dependency is down."""

    def __init__(self) -> None:
        self.away, self.silent = False, False
        self.needing = self.failed = self.waited = 0
        self.changed = asyncio.Condition()
        self.places = asyncio.Semaphore(PLACES)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        path, status = head.split()[1].decode(), 200
        if path == "/held":
            async with self.places:
                await asyncio.sleep(HOLD_S)
        elif path == "/pooled":
            async with self.places:
                pass
        elif path == "/needs":
            self.needing += 1
            self.waited += self.silent
            while self.silent:
                await asyncio.sleep(0.01)
            status = 500 if self.away else 200
            self.failed += status == 500
        body = HEALTH
        lines = [f"HTTP/1.1 {status} OK", f"Content-Length: {len(body)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        writer.close()


@contextmanager
def serving() -> Iterator[tuple[Service, int]]:
    """The service and its port."""
    loop, begun = asyncio.new_event_loop(), threading.Event()
    found: list[tuple[Service, int]] = []

    async def main() -> None:
        service = Service()
        server = await asyncio.start_server(service.serve, "127.0.0.1", 0, backlog=256)
        found.append((service, server.sockets[0].getsockname()[1]))
        begun.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.create_task(main())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


class Dependency(OnThisMachine):
    """An engine whose dependency is a flag of the service; `fails`: actions on it fail.

    It goes down only after requests sent after the action have arrived, so that no earlier one is still in flight, and
    stays down until enough requests have arrived.
    """

    def __init__(self, root: Path, service: Service, *, fails: bool = False) -> None:
        super().__init__(root, [])
        self.service, self.fails, self.asked, self.until = service, fails, list[str](), 0

    def do_to_dependency(self, name: str, verb: str) -> str:
        self.asked.append(f"{verb} {name}")
        if self.fails:
            raise DockerError("no such container")
        leaves = verb in ("stop", "pause", "lock")
        if leaves:
            self.until = self.service.needing + 5
        while 0 < self.service.needing < min(self.until, SENT - 5):
            time.sleep(0.001)
        if verb in ("stop", "start"):
            self.service.away = verb == "stop"
        elif verb in ("pause", "unpause"):
            self.service.silent = verb == "pause"
        self.until = self.service.needing + 41
        return verb

    def ip_of(self, _: str) -> str:
        return "198.18.0.5"

    def connections(self) -> dict[str, tuple[int, int]]:
        return {"198.18.0.5": (7, len(self.asked) % 2), "198.18.0.6": (1, 1)}


def happened(root: Path, event: Event, path: str = "/health", *, fails: bool = False) -> tuple[EventRecord, Service]:
    with serving() as (service, port):
        record = under_event(root, event, Dependency(root / "engine", service, fails=fails), (port, path, HEALTH))
    return record, service


def bursts(*steps: int) -> Event:
    needs = Needs(timeout_s=5.0, path="/held", steps=steps, step_s=STEP_S, places=PLACES)
    phases = (Phase(0.3, bench.load.event.BEFORE_S + STEP_S * len(steps)),)
    return replace(EVENTS["exhausted"].cases[0], needs=needs, phases=phases, timeout_s=0.8, most_rate=50.0)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.load.event, "BEFORE_S", 0.5)


def test_health_checks_in_the_pool_stop_at_exactly_as_many_as_it_has_places(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, bursts(PLACES - 1, PLACES, PLACES + 1, 2 * PLACES), "/pooled")
    found = record.extras
    assert (found["failing_k"], found["most_waiting"], found["places"]) == (PLACES, 2 * PLACES, PLACES)
    assert (found["needs_sent"], found["needs_lost"], found["needs_answered"]) == (25, 0, 25)
    assert (found["checks_lost_4"], found["lost_10"]) == (0, 0) and record.lost >= 3
    waits = [found[f"wait_{count}_s"] for count in (4, 5, 6, 10)]
    for wait, rounds in zip(waits, (1, 1, 2, 2), strict=True):
        assert isinstance(wait, float) and rounds * HOLD_S <= wait < (rounds + 1) * HOLD_S
    assert record.sent == sum(record.fates.values()) and record.actions[0].what == "4 waiting requests"


def test_health_checks_beside_the_pool_pass(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, bursts(PLACES, 2 * PLACES))
    assert (record.lost, record.extras["failing_k"], record.extras["most_waiting"]) == (0, None, 10)


def away(do: str, back: str, timeout_s: float = 3.0, **more: object) -> Event:
    case = EVENTS["away"].cases[0]
    assert case.needs
    actions = (Action(0.5, do, to="database"), Action(1.5, back, to="database"))
    needs = replace(case.needs, path="/needs", rate=50.0, timeout_s=timeout_s)
    return replace(case, actions=actions, needs=needs, phases=(Phase(0.3, 2.5),), most_rate=50.0, timeout_s=3.0, **more)


def test_errors_are_exactly_those_sent_while_the_dependency_is_away(tmp_path: Path) -> None:
    record, service = happened(tmp_path, away("stop", "start"))
    found = record.extras
    assert record.happened and record.lost == 0 and not record.unaccounted
    assert found["needs_sent"] == service.needing == SENT
    assert found["needs_lost"] == found["needs_other_status"] == service.failed >= 10
    assert found["needs_lost_before"] == 0 and found["needs_lost_after"] == 0
    gone, back = record.actions
    assert found["away_s"] == back.at_s + back.took_s - gone.at_s and isinstance(found["again_s"], float)


def test_a_silent_dependency_costs_what_waits_longer_than_the_client(tmp_path: Path) -> None:
    record, service = happened(tmp_path, away("pause", "unpause", timeout_s=0.4))
    found = record.extras
    # Of the requests that had to wait, the last ones are answered when it continues.
    timed_out = found["needs_timed_out"]
    assert isinstance(timed_out, int) and 10 <= timed_out < service.waited and found["needs_lost"] == timed_out
    assert record.fates == {Fate.ANSWERED: record.sent}


def test_what_could_not_be_done_did_not_happen(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, away("stop", "start"), fails=True)
    assert (record.happened, record.counts) == (False, False)
    assert "database stopped failed: no such container" in record.causes


def test_connections_are_those_that_the_database_counts(tmp_path: Path) -> None:
    record, _ = happened(tmp_path, away("lock", "unlock", name="exhausted", watches="connections"))
    found = record.extras
    assert [found[f"connections_{name}"] for name in ("before", "most", "after", "used_after")] == [7, 7, 7, 0]
    assert record.happened_by == "the database's own list of locks"


def test_a_route_that_never_answers_is_no_event(tmp_path: Path) -> None:
    event = away("stop", "start")
    assert event.needs
    event = replace(event, actions=event.actions[:1], needs=replace(event.needs, rate=0))
    record, service = happened(tmp_path, event)
    assert "no request for /needs was answered at any time" in record.causes
    # It is restored even if the load ends first.
    assert not service.away
