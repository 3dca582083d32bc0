"""What is taken away of a run, and of dead ones."""

from __future__ import annotations

import fcntl
import time
from dataclasses import replace
from pathlib import Path

import pytest
from docker_calls import Docker, docker, run

from driver.docker import Done
from driver.lifecycle import leftovers
from driver.lifecycle.leftovers import remove_dead_runs, remove_left, remove_run
from driver.run import Run

__all__ = ["docker", "run"]

DOWN = "compose --project-name p --file {}/compose.yml --profile * down --timeout 0 --volumes --remove-orphans"


@pytest.fixture(autouse=True)
def quick(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.folder.mkdir(parents=True)
    (run.folder / "compose.yml").write_text("services: {}\n")
    monkeypatch.setattr(leftovers, "WAIT_S", 0)


def test_the_end_of_a_run_takes_away_its_own_and_nothing_else(docker: Docker, run: Run) -> None:
    remove_run(replace(run, host=replace(run.host, source_images=("bench/made",))))
    only = "--quiet --filter label=com.docker.compose.project=p"
    assert docker.calls == [
        "rm --force --volumes p-loadgen-host-1",
        DOWN.format(run.folder),
        f"ps --all {only}",
        f"network ls {only}",
        "image rm bench/made",
    ]


def test_a_run_that_has_started_nothing_asks_for_nothing(docker: Docker, run: Run) -> None:
    (run.folder / "compose.yml").unlink()
    remove_run(replace(run, host=replace(run.host, services={})))
    assert docker.calls == []


def test_a_network_that_was_still_in_use_is_removed_by_the_next_try(docker: Docker, run: Run) -> None:
    docker.does("network ls", lambda _: Done(0, "1a\n" if len(docker.asked(" down ")) < 2 else "", ""))
    remove_run(run)
    assert len(docker.asked(" down ")) == 2


def test_what_cannot_be_removed_is_said_with_composes_words(
    docker: Docker, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.says(" down ", "error: it has\n active endpoints\n", 1)
    docker.says("network ls", "1a\n")
    remove_run(run)
    assert len(docker.asked(" down ")) == leftovers.TRIES
    words = "r: some of its containers and networks are left: error: it has active endpoints\n"
    assert capsys.readouterr().err == words


def test_without_an_engine_nothing_is_tried_twice(docker: Docker, run: Run) -> None:
    docker.says("", status=1)
    remove_run(run)
    remove_left(run)
    assert len(docker.asked(" down ")) == 1


def test_what_is_left_has_containers_in_which_python_works_too(docker: Docker, run: Run) -> None:
    docker.says("label=bench.run=p", "2b\n3c\n")
    remove_left(run)
    assert docker.asked(" down ") == [] and docker.calls[-1] == "rm --force 2b 3c"


OLD = "2026-01-01 00:00:00.5 +0000 UTC"


def removed(docker: Docker) -> list[str]:
    """The projects that were taken down since this was asked last."""
    names = [call.split()[2] for call in docker.asked(" down ")]
    docker.calls.clear()
    return names


def network(*names: str, made: str = OLD) -> str:
    return "".join(f"{name}\t{made}\n" for name in names)


def test_of_runs_in_the_way_those_that_nobody_measures_are_removed_with_containers_that_are_up(
    docker: Docker, tmp_path: Path
) -> None:
    live = tmp_path / "live"
    live.mkdir()
    docker.says("network ls", network("bench-live", "bench-old", "bench-gone", "bench-none", "other"))
    for name in ("live", "old", "gone"):
        docker.says(f"=bench-{name} ", f"{name}-1\n")
        docker.says(f'working_dir"}}}} {name}-1', f"{tmp_path / name if name != 'old' else tmp_path}\n")
    with (live / ".writer").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_dead_runs() and removed(docker) == ["bench-gone", "bench-none"]
    assert remove_dead_runs() and removed(docker) == ["bench-live", "bench-gone", "bench-none"]


def test_what_may_just_be_starting_is_left_alone(docker: Docker) -> None:
    docker.says("network ls", network("bench-new", made=time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime())))
    assert remove_dead_runs() and removed(docker) == []


def test_without_an_engine_no_run_is_dead(docker: Docker) -> None:
    docker.says("network ls", status=1)
    assert not remove_dead_runs()


def test_services_that_docker_compose_up_left_up_are_removed_once_bench_has_ended(
    docker: Docker, tmp_path: Path
) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services/matrix.toml").touch()
    docker.says("network ls", network("bench"))
    docker.says("project=bench ", "a-service\n")
    docker.says("inspect", f"{tmp_path}\n")
    # Of services that somebody has started without bench there is no state.
    for state, gone in (("running", []), ("created", []), ("", []), ("exited", ["bench"])):
        docker.says(f"service=bench --filter label=com.docker.compose.project.working_dir={tmp_path}", f"{state}\n")
        assert remove_dead_runs() and removed(docker) == gone
