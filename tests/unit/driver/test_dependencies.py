"""Actions on the database and the upstream during an event, with a fake docker."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker_calls import Docker
from places import ROOT
from pretend_engine import PretendEngine, made_run

from driver.docker import DockerError, Done
from driver.engines import dependencies
from driver.engines.local import LocalDocker
from driver.messages import Action
from driver.run import Run
from driver.steps.events import Dependencies


@pytest.fixture
def engine(run: Run, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> LocalDocker:
    monkeypatch.setattr(dependencies, "TRIES", 3)
    monkeypatch.setattr(dependencies, "WAIT_S", 0)
    for name in ("postgres", "upstream", "loadgen"):
        docker.runs(f"p-{name}-1")
    return LocalDocker(run)


@pytest.mark.parametrize(("verb", "state"), [("stop", "exited"), ("pause", "paused")])
def test_dependency_is_away_once_its_container_is(engine: LocalDocker, docker: Docker, verb: str, state: str) -> None:
    docker.says("inspect --format {{.State.Status}}", f"{state}\n")
    assert engine.do_to_dependency("upstream", verb) == state
    assert docker.calls[1] == f"{verb} p-upstream-1" and engine.ended() == ()
    docker.says("inspect --format {{.State.Status}}", "running\n")
    with pytest.raises(DockerError, match=f"it is not {state}"):
        engine.do_to_dependency("upstream", verb)


@pytest.mark.parametrize("name", ["postgres", "upstream"])
def test_each_dependency_has_the_program_that_says_whether_it_answers(name: str) -> None:
    copied = [line.split() for line in (ROOT / name / "Dockerfile").read_text().splitlines() if line.startswith("COPY")]
    folder, program = dependencies.READY.rsplit("/", 1)
    assert any(program in words and words[-1] == f"{folder}/" for words in copied)
    assert (ROOT / name / program).is_file()


def test_dependency_that_had_ended_before_the_event_is_reported(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-postgres-1", running=False)
    docker.says("inspect --format {{.State.Status}}", "exited\n")
    engine.do_to_dependency("postgres", "stop")
    docker.runs("p-postgres-1", pid=8)
    docker.says("inspect --format {{.State.Status}}", "running\n")
    engine.do_to_dependency("postgres", "start")
    assert engine.ended() == ("postgres",)


@pytest.mark.parametrize("verb", ["start", "unpause"])
def test_it_is_back_once_it_answers(engine: LocalDocker, docker: Docker, verb: str) -> None:
    docker.says("inspect --format {{.State.Status}}", "running\n")
    answers = iter([Done(1, "", ""), Done(0, "", "")])
    docker.does("exec p-postgres-1 /usr/local/bin/ready", lambda _: next(answers))
    assert engine.do_to_dependency("postgres", verb) == "running"
    assert len(docker.asked("/usr/local/bin/ready")) == 2
    # A restarted container has a new first process.
    assert bool(docker.asked("inspect --format {{index")) == (verb == "start")
    docker.says("exec p-postgres-1 /usr/local/bin/ready", status=1)
    with pytest.raises(DockerError, match="it does not answer"):
        engine.do_to_dependency("postgres", verb)


def test_a_table_is_locked_once_the_database_lists_the_lock(engine: LocalDocker, docker: Docker) -> None:
    held = iter(["0\n", "1\n", "1\n", "0\n"])
    docker.does("pg_locks", lambda _: Done(0, next(held), ""))
    assert engine.do_to_dependency("postgres", "lock") == "locked"
    (lock,) = docker.asked("LOCK TABLE world IN ACCESS EXCLUSIVE MODE")
    assert lock.startswith("exec --detach --env PGAPPNAME=bench-lock p-postgres-1 psql ")
    assert engine.do_to_dependency("postgres", "unlock") == "unlocked"
    assert len(docker.asked("pg_terminate_backend", "application_name = 'bench-lock'")) == 1


def test_connections_are_those_of_services(engine: LocalDocker, docker: Docker) -> None:
    docker.says("usename = 'bench'", "198.18.0.5|5|2\n198.18.0.6|1|0\n")
    assert engine.connections() == {"198.18.0.5": (5, 2), "198.18.0.6": (1, 0)}


def test_a_run_that_was_killed_during_an_event_leaves_nothing_paused(engine: LocalDocker, docker: Docker) -> None:
    docker.says("exec p-postgres-1 /usr/local/bin/ready")
    engine.start_dependencies()
    assert docker.calls[0].startswith("unpause ")


class Noting(PretendEngine):
    """Notes the actions on dependencies."""

    def do_to_dependency(self, name: str, verb: str) -> str:
        self._note(verb, name)
        return verb


STOP, START = Action(3.0, "stop", to="database"), Action(8.0, "start", to="database")


def watched(root: Path, services: int) -> tuple[Noting, Dependencies]:
    """An engine and its dependencies, while so many services are watched."""
    engine = Noting(made_run(root, "a"))
    shared = Dependencies(engine)
    for _ in range(services):
        shared.enter()
    return engine, shared


def test_for_services_side_by_side_it_is_done_once_and_all_have_the_same_moment(tmp_path: Path) -> None:
    engine, shared = watched(tmp_path, 2)
    assert shared.do(STOP) == shared.do(STOP) and shared.do(START) == shared.do(START)
    shared.leave()
    shared.leave()
    assert engine.calls() == ["stop postgres", "start postgres"]


def test_the_last_that_is_watched_brings_back_what_is_away(tmp_path: Path) -> None:
    engine, shared = watched(tmp_path, 2)
    shared.do(STOP)
    shared.do(Action(1.0, "pause", to="upstream"))
    shared.leave()
    assert engine.calls() == ["stop postgres", "pause upstream"]
    shared.leave()
    assert engine.calls()[2:] == ["start postgres", "unpause upstream"]


def test_what_failed_is_said_and_brought_back_too(tmp_path: Path) -> None:
    engine, shared = watched(tmp_path, 1)
    engine.fails = {"stop"}
    assert shared.do(STOP)[-1] == "no stop"
    shared.leave()
    assert engine.calls() == ["stop postgres", "start postgres"]
