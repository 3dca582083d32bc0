"""A user's own app: equally many requests can wait in every server that has a setting for it, and every row says so."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import asdict

import pytest
from an_app import an_app
from make_plans import MATRIX, composed
from places import ROOT

from bench.matrix.knobs import AT_ONCE, parse_knob
from bench.matrix.model import Service
from bench.matrix.start_command import START, StartCommand, Waits
from bench.matrix.start_script import start_words
from bench.own_app.app import with_own_app
from bench.own_app.interface import INTERFACES
from bench.own_app.targets import DEFAULT
from bench.plan.make import make_plan
from bench.plan.selection import Selection
from bench.plan.variants import Variant
from bench.words.remarks import waits_words

BASE = {"PORT": "8080", "BACKLOG": "2048"}
RECORD = """
import json, os, runpy, sys, types
from unittest.mock import MagicMock
sys.path[:0] = [os.environ["SERVICES"]]
class Found:
    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self)
    def create_module(self, spec):
        made = MagicMock(__path__=[], __name__=spec.name)
        return made
    def exec_module(self, module): pass
sys.meta_path.append(Found())
from common import prefork
started = []
prefork.run = lambda serve: serve(MagicMock())
import waitress, cheroot
os.dup2 = lambda *_: None
waitress.create_server = lambda *a, **k: started.append(k["threads"]) or MagicMock()
cheroot.wsgi.Server = lambda *a, **k: started.append(k["numthreads"]) or MagicMock()
runpy.run_path(sys.argv[1], run_name="__main__")
print(json.dumps(started))
"""


def services(*vary: str, workers: str = "1", interfaces: tuple[str, ...] = INTERFACES) -> list[Service]:
    """The example app on all servers of these interfaces."""
    found = []
    for interface in interfaces:
        folder = str(ROOT / "examples/shop" / ("flask" if interface == "wsgi" else "fastapi"))
        matrix = with_own_app(MATRIX, an_app(DEFAULT, folder=folder, app="main:app", interface=interface))
        every = tuple(name for name, server in matrix.servers.items() if interface in server.serves)
        knobs = tuple(map(parse_knob, vary))
        wanted = Selection(frameworks=("shop",), servers=every, pythons=("3.13",), vary=knobs)
        found += make_plan(Variant(matrix=matrix, settings={"WORKERS": workers}), wanted).services
    return found


def environment(service: Service, workers: str) -> dict[str, str]:
    """The environment of the service's container, from the run's Compose file."""
    own = composed(MATRIX, [service])[service.name].get("environment", {})
    return BASE | {"WORKERS": workers} | {key: value for key, value in own.items() if value is not None}


def resolved(service: Service, workers: str) -> StartCommand:
    """The command that the service's `start` executes; if `start` is a program, that program with its environment."""
    text = (ROOT / "services/servers" / service.server.name / "start").read_text()
    env = environment(service, workers)
    return StartCommand(start_words(text, env), env)


def waiting(service: Service, workers: str) -> Waits:
    notes = service.server.notes
    assert notes is not None and notes.default and notes.source, service.server.name
    return resolved(service, workers).waits(notes.default, concurrent=service.server.concurrent)


@pytest.mark.parametrize(("workers", "threads"), [("1", 16), ("4", 4), ("3", 6), ("32", 1)])
def test_every_pool_of_threads_has_the_same_number_and_every_row_says_what_can_wait(workers: str, threads: int) -> None:
    found = {service.server.name: waiting(service, workers) for service in services(workers=workers)}
    hosting = {name for name, server in MATRIX.servers.items() if set(INTERFACES) & set(server.serves)}
    assert found.keys() == hosting, "every server that hosts an app of one's own"
    pools = {name for name, one in found.items() if one.threads}
    variants = {"uwsgi-http-socket", "granian-wsgi-one-thread"}
    assert pools == {"gunicorn-gthread", "waitress", "cheroot", "uwsgi", "granian-wsgi"} | variants
    assert {(found[name].workers, found[name].each) for name in pools} == {(int(workers), threads)}
    total = int(workers) * threads
    assert (total >= AT_ONCE and total - int(workers) < AT_ONCE) or threads == 1
    for name, one in found.items():
        words = waits_words(one)
        if name in pools:
            assert str(total) in words, name
        elif MATRIX.servers[name].concurrent:
            assert words == "no limit", name
        else:
            assert words == f"{workers} (= workers)", name


def test_what_varies_takes_the_place_of_the_default_and_follows_the_workers() -> None:
    varied = services("WORKERS=1,4", interfaces=("wsgi",))
    found = {one.name: waiting(one, dict(one.settings)["WORKERS"]) for one in varied}
    assert {one.total for one in found.values() if one.threads} == {AT_ONCE}
    varied = services("THREADS=2,64", interfaces=("wsgi",))
    totals = {dict(one.settings)["THREADS"]: waiting(one, "1").total for one in varied}
    assert totals == {"2": 2, "64": 64} and not any(one.threads for one in varied)


@pytest.mark.parametrize("server", ["waitress", "cheroot"])
@pytest.mark.parametrize("threads", ["16", ""])
def test_programs_start_the_threads_that_their_environment_or_their_notes_say(server: str, threads: str) -> None:
    [service] = [one for one in services(interfaces=("wsgi",)) if one.server.name == server]
    env = environment(service, "1") | {"SERVICES": str(ROOT / "services")}
    env = env | {"THREADS": threads} if threads else {key: env[key] for key in env if key != "THREADS"}
    start = ROOT / "services/servers" / server / "start"
    done = subprocess.run([sys.executable, "-c", RECORD, start], env=env, capture_output=True, text=True, check=True)
    assert service.server.notes
    said = StartCommand(("python3", START), env).waits(service.server.notes.default, concurrent=True)
    assert json.loads(done.stdout) == [said.each]


def test_a_service_of_the_matrix_has_what_its_start_says() -> None:
    plan = make_plan(Variant(matrix=MATRIX, settings={}), Selection(stacks=("*-flask",)))
    assert not any(service.threads for service in plan.services)


def test_the_command_to_paste_names_the_app_and_nothing_of_this_project() -> None:
    for service in services(workers="2"):
        notes = service.server.notes
        assert notes is not None
        command = resolved(service, "2")
        for app in ("main:app", "shop.main:create_app()"):
            told = command.elsewhere(app, notes.command)
            if app.endswith("()") and service.server.name == "daphne":
                assert told is None
                continue
            assert told, service.server.name
            words = shlex.split(told)
            assert not [word for word in words if word.endswith("/python3")], "the interpreter of our image"
            # Every server has a command, which names the user's app and nothing of ours.
            module = app.partition(":")[0]
            assert any(module in word for word in words), told
            assert not any(mark in told for mark in ("/app/", "common", "drained", "--config", "{module", "{app")), told
            if START not in command.argv:
                assert {"2", "8080"} <= {part for word in words for part in word.split(":")}, told


@pytest.mark.parametrize(
    ("argv", "app", "told"),
    [
        (("/opt/venv/bin/python3", "/opt/venv/bin/gunicorn", "--config", "x", "-w", "1", "app:app"), "main:app",
         "gunicorn -w 1 main:app"),
        (("gunicorn", "app:create_app"), "main:make()", "gunicorn 'main:make()'"),
        (("granian", "server.drained:app", "--http", "1"), "main:make()", "granian --factory main:make --http 1"),
        (("uvicorn", "app:app"), "main:make()", "uvicorn --factory main:make"),
        (("hypercorn", "app:app"), "main:make()", "hypercorn 'main:make()'"),
    ],
)  # fmt: skip
def test_the_app_takes_the_place_of_ours(argv: tuple[str, ...], app: str, told: str) -> None:
    assert StartCommand(argv, {}).elsewhere(app) == told


def test_every_server_has_notes_with_their_sources() -> None:
    assert {name for name, server in MATRIX.servers.items() if server.notes is None} == set()
    widely = {name for name, server in MATRIX.servers.items() if server.notes and server.notes.documented}
    assert {"gunicorn-sync", "waitress", "uwsgi", "uvicorn", "hypercorn", "daphne"} <= widely
    assert not any(MATRIX.servers[name].development for name in widely)
    for name, server in MATRIX.servers.items():
        start = (ROOT / "services/servers" / name / "start").read_text().splitlines()[0]
        hosts = set(server.serves) & set(INTERFACES)
        assert not hosts or ("python" in start) == bool(server.notes and server.notes.command), name
    assert all(asdict(server.notes)["source"] for server in MATRIX.servers.values() if server.notes)
