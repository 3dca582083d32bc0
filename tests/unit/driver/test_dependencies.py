"""What all services need: it starts, ends, and is started again."""

import json
from dataclasses import replace

import pytest
from docker_calls import Docker, docker, run

from driver.docker import Done
from driver.engines import dependencies
from driver.engines.local import LocalDocker
from driver.failure import Failure
from driver.run import Run

__all__ = ["docker", "run"]

COMPOSE = "compose --project-name p"
READY = "exec p-postgres-1 /usr/local/bin/ready"


@pytest.fixture
def engine(run: Run, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> LocalDocker:
    monkeypatch.setattr(dependencies, "WAIT_S", 0.1e-6)
    docker.runs("p-loadgen-1", "p-postgres-1", "p-upstream-1")
    return LocalDocker(run)


@pytest.mark.parametrize(
    ("subnet", "taken"),
    [
        ("198.18.0.0/24", ""),
        ("10.1.0.64/26", "other"),
        ("10.1.0.0/16", "other"),
        ("10.1.4.0/24", ""),
        ("172.17.9.0/24", "bridge"),
        ("0.0.0.0/0", "bridge, other"),
        ("198.18.0.0/99", ""),
    ],
)
def test_a_subnet_is_taken_where_a_network_of_another_project_overlaps_it(
    run: Run, docker: Docker, subnet: str, taken: str
) -> None:
    docker.says("network ls", "host\nbridge\n")
    bridge = [{"Subnet": "fd00::/64"}, {"Subnet": "172.17.0.0/16"}]
    found = [{"Name": "host", "IPAM": {"Config": None}}, {"Name": "bridge", "Labels": {}, "IPAM": {"Config": bridge}}]
    docker.says("network inspect host bridge", json.dumps([*found, *json.loads(networks(other="10.1.0.0/25"))[::2]]))
    assert dependencies.subnet_taken(replace(run, settings={"BENCH_SUBNET": subnet})) == taken


def networks(**others: str) -> str:
    made = {"p_bench": "198.18.0.0/24", "bridge": "fd00::/64", **others}
    labels = {"p_bench": {"com.docker.compose.project": "p"}}
    return json.dumps(
        [
            {"Name": name, "Labels": labels.get(name), "IPAM": {"Config": [{"Subnet": net}]}}
            for name, net in made.items()
        ]
    )


def test_they_have_started_once_the_database_has_rows_and_all_are_there(engine: LocalDocker, docker: Docker) -> None:
    docker.does(READY, lambda _: Done(int(len(docker.asked(READY)) < 15), "", ""))
    engine.start_dependencies()
    (call,) = docker.asked(COMPOSE)
    assert call.endswith("compose.yml up --detach --no-build loadgen postgres upstream")
    assert len(docker.asked(READY)) == 15


def test_one_that_was_killed_as_it_started_has_another_try(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-postgres-1", running=False)
    docker.does(READY, lambda _: Done(int(len(docker.asked(COMPOSE)) < 2), "", ""))
    engine.start_dependencies()
    assert len(docker.asked(COMPOSE)) == 2


def test_a_database_without_rows_ends_the_run_with_its_last_words(engine: LocalDocker, docker: Docker) -> None:
    docker.says(READY, status=1)
    docker.says("logs", "first\nout of memory\n")
    with pytest.raises(Failure, match=r"the database has no rows after .* s: out of memory"):
        engine.start_dependencies()


def test_a_user_s_own_database_is_not_waited_for_here(engine: LocalDocker, docker: Docker) -> None:
    docker.says(READY, status=1)
    host = replace(engine.run.host, dependencies=("loadgen", "own-postgres"))
    docker.runs("p-own-postgres-1")
    LocalDocker(replace(engine.run, host=host)).start_dependencies()
    assert not docker.asked(READY)


def test_what_does_not_start_says_why(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[bool] = []

    def remove_dead_runs() -> bool:
        removed.append(True)
        return True

    monkeypatch.setattr("driver.lifecycle.leftovers.remove_dead_runs", remove_dead_runs)
    docker.says("network ls", "p_bench\nbridge\nother\n")
    docker.says("network inspect p_bench bridge other", networks(other="198.18.1.0/24"))
    docker.says(COMPOSE, "no such image\n", status=1)
    with pytest.raises(Failure, match="load generator does not start: no such image") as failure:
        engine.start_dependencies()
    assert failure.value.status == 1
    assert not removed
    docker.says("network inspect", networks(other="198.18.0.0/16", gone="10.0.0.0/8"), status=1)
    with pytest.raises(
        Failure, match=r"the subnet 198.18.0.0/24 is in use by Docker's network other \(another run"
    ) as failure:
        engine.start_dependencies()
    assert (failure.value.status, len(removed)) == (2, 1)
    # Once what a dead run has left is gone, it starts.
    docker.does(COMPOSE, lambda _: Done(int(len(removed) < 2), "", ""))
    engine.start_dependencies()


def test_what_has_ended_is_started_again_and_said(
    engine: LocalDocker, docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine.revive() == ()
    assert not docker.asked(COMPOSE)
    docker.runs("p-postgres-1", running=False)
    del docker.containers["p-upstream-1"]
    assert engine.ended() == ("postgres",)

    def up(_: str) -> Done:
        docker.runs("p-postgres-1", "p-upstream-1", pid=8)
        return Done(0, "", "")

    docker.does(COMPOSE, up)
    assert engine.revive() == ("postgres",)
    assert capsys.readouterr().err == "postgres ended while the run went on: started again\n"
    assert (engine.ended(), engine.pid_of("postgres")) == ((), 8)
