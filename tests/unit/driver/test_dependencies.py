"""What is done to the database and the upstream under an event, with a docker that only pretends."""

from __future__ import annotations

import pytest
from docker_calls import Docker

from driver.docker import DockerError, Done
from driver.engines import dependencies
from driver.engines.local import LocalDocker
from driver.run import Run


@pytest.fixture
def engine(run: Run, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> LocalDocker:
    monkeypatch.setattr(dependencies, "TRIES", 3)
    monkeypatch.setattr(dependencies, "WAIT_S", 0)
    for name in ("postgres", "upstream", "loadgen"):
        docker.runs(f"p-{name}-1")
    return LocalDocker(run)


@pytest.mark.parametrize(("verb", "state"), [("stop", "exited"), ("pause", "paused")])
def test_a_dependency_is_away_once_its_container_says_so(
    engine: LocalDocker, docker: Docker, verb: str, state: str
) -> None:
    docker.says("inspect --format {{.State.Status}}", f"{state}\n")
    assert engine.do_to_dependency("upstream", verb) == state
    assert docker.calls[0] == f"{verb} p-upstream-1"
    docker.says("inspect --format {{.State.Status}}", "running\n")
    with pytest.raises(DockerError, match=f"it is not {state}"):
        engine.do_to_dependency("upstream", verb)


@pytest.mark.parametrize("verb", ["start", "unpause"])
def test_it_is_back_once_it_answers(engine: LocalDocker, docker: Docker, verb: str) -> None:
    docker.says("inspect --format {{.State.Status}}", "running\n")
    answers = iter([Done(1, "", ""), Done(0, "", "")])
    docker.does("exec p-postgres-1 /usr/local/bin/ready", lambda _: next(answers))
    assert engine.do_to_dependency("postgres", verb) == "running"
    assert len(docker.asked("/usr/local/bin/ready")) == 2
    # A container that was started again has another first process.
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
    docker.says("usename = 'bench'", "5|2\n")
    assert engine.connections() == (5, 2)


def test_a_run_that_was_killed_during_an_event_leaves_nothing_paused(engine: LocalDocker, docker: Docker) -> None:
    docker.says("exec p-postgres-1 /usr/local/bin/ready")
    engine.start_dependencies()
    assert docker.calls[0].startswith("unpause ")
