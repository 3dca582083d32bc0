"""Events of threads, database connections and dependencies: how each service has them, or why it cannot."""

from __future__ import annotations

import json

import pytest
from make_plans import plan

from bench.core.typed import as_plain, read_as
from bench.events.exhausted.cases import THREADS_TAKEN
from bench.plan.cells import PlannedCell
from bench.plan.event import Event
from bench.plan.events import EVENTS

NO_POOL = "it has no `def` routes that run in a pool of threads"
SAME = "every route of a WSGI app waits for the same threads: see `exhausted, threads`"


def cells(stack: str, *events: str, **more: object) -> dict[str, PlannedCell]:
    made = plan(preset="bad-day", events=events, stacks=(stack,), controls="none", **more)
    return {str(cell.event.case): cell for cell in made.cells if cell.event}


def causes(stack: str, *events: str) -> dict[str, str]:
    stacks = (stack, "uvicorn-fastapi")
    made = plan(preset="bad-day", events=events, stacks=stacks, controls="none")
    return {str(skip.case): skip.cause for skip in made.skips if skip.event and "fastapi" not in skip.service}


@pytest.mark.parametrize(
    ("stack", "path", "steps", "given"),
    [
        ("uvicorn-fastapi", "/held/1500", (39, 40, 41, 80), {}),
        ("hypercorn-starlette", "/held/1500", (39, 40, 41, 80), {}),
        ("gunicorn-gthread-flask", "/?duration=1500", (3, 4, 5, 8), {"THREADS": "4"}),
        ("cherrypy", "/?duration=1500", (3, 4, 5, 8), {"THREADS": "4"}),
        ("gunicorn-sync-wsgi", "/?duration=1500", (1, 2), {}),
    ],
)
def test_as_many_wait_as_there_are_threads_and_one_less_and_one_more(
    stack: str, path: str, steps: tuple[int, ...], given: dict[str, str]
) -> None:
    event = cells(stack, "exhausted")["threads"].event
    assert event and event.needs
    assert (event.needs.path, event.needs.steps, event.needs.places) == (path, steps, max(steps) // 2)
    assert event.environment == {"TELL_PID": "1", "WORKERS": "1"} | given
    assert event.seconds == 3.0 + 4.0 * len(steps)
    assert read_as(Event, json.loads(json.dumps(as_plain(event)))) == event


def test_a_framework_whose_plain_functions_run_in_threads_has_a_health_check_there() -> None:
    found = cells("uvicorn-fastapi", "exhausted")
    assert [found[case].exchange.path for case in ("threads", "health check in the pool")] == ["/plaintext", "/held/0"]
    assert found["threads"].event and found["threads"].event.documented.endswith("(starlette.dev/threadpool)")


def test_knobs_that_are_varied_decide_how_many_there_are() -> None:
    made = plan("THREADS=2", "WORKERS=3", preset="bad-day", events=("exhausted",), stacks=("gunicorn-gthread-wsgi",))
    (event,) = (cell.event for cell in made.cells if cell.event and cell.event.case == THREADS_TAKEN)
    assert event.needs and event.needs.steps == (5, 6, 7, 12)


@pytest.mark.parametrize(
    ("stack", "known"),
    [
        ("aiohttp", {"threads": f"aiohttp: {NO_POOL}", "health check in the pool": f"aiohttp: {NO_POOL}"}),
        ("gunicorn-gthread-wsgi", {"health check in the pool": SAME}),
        (
            "gunicorn-gevent-wsgi",
            {
                "threads": "gunicorn-gevent has a thread or greenlet for each connection, and no pool of them",
                "health check in the pool": SAME,
            },
        ),
    ],
)
def test_who_has_no_such_pool_says_so(stack: str, known: dict[str, str]) -> None:
    assert causes(stack, "exhausted") == known


def test_what_one_case_cannot_be_is_not_said_of_the_others() -> None:
    asked = ("exhausted-threads", "exhausted-health-check-in-the-pool")
    assert causes("gunicorn-gthread-wsgi", *asked) == {"health check in the pool": SAME}
    assert [*cells("gunicorn-gthread-wsgi", *asked)] == ["threads"]


def test_who_has_no_route_that_needs_it_says_so() -> None:
    found = causes("proxy-py", "away")
    assert [*found] == [""] and found[""].startswith("proxy-py: its plugins cannot wait without stopping all others")


def test_the_table_is_locked_around_each_burst() -> None:
    cell = cells("gunicorn-gthread-flask", "exhausted")["database pool"]
    assert cell.event and cell.event.needs
    done = [(one.at_s, one.do) for one in cell.event.actions]
    assert done[:4] == [(2.5, "lock"), (4.5, "unlock"), (6.5, "lock"), (8.5, "unlock")]
    assert {one.to for one in cell.event.actions} == {"database"}
    assert len(done) == 2 * len(cell.event.needs.steps) and done[-1][0] < cell.event.seconds
    assert (cell.exchange.path, cell.event.needs.path, cell.event.watches) == ("/plaintext", "/raw/db", "connections")
    # It gets enough threads that they are not exhausted first.
    assert cell.event.environment["THREADS"] == "16" and cell.event.environment["DB_POOL_TOTAL"] == "5"


def test_a_dependency_comes_back_after_five_seconds_and_is_away_for_all_at_once() -> None:
    found = cells("uvicorn-fastapi", "away")
    assert [*found] == ["database stopped", "database silent", "upstream stopped", "upstream silent"]
    for case, cell in found.items():
        assert cell.event and cell.event.needs
        gone, back = cell.event.actions
        assert back.at_s - gone.at_s == 5.0 and gone.to == back.to == case.split()[0] and not cell.event.apart_s
        assert cell.event.needs.path == {"database": "/raw/db", "upstream": "/simple_request/20"}[gone.to]
        assert cell.event.seconds <= 20


def test_events_without_a_database_have_no_path_of_one() -> None:
    needs = [case.needs for kind in EVENTS.values() for case in kind.cases if case.needs and case.needs.scenario]
    assert needs and not any(one.path for one in needs)
