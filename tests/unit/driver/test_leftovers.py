"""What is removed after a run and after dead runs; what scripts/clean.sh considers ours."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from captured import Capture, refused
from docker_calls import Docker
from tables import rows

from driver.docker import Done
from driver.engines.dead_runs import remove_dead_runs
from driver.failure import USER, Failure
from driver.lifecycle import clean, leftovers
from driver.lifecycle.clean import KINDS, Left, count, find_folders, find_images, find_left, remove_all
from driver.lifecycle.leftovers import remove_left, remove_run
from driver.messages import UNFINISHED
from driver.run import Run

DOWN = "compose --project-name p --file {}/compose.yml --profile * down --timeout 0 --volumes --remove-orphans"


@pytest.fixture(autouse=True)
def quick(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.folder.mkdir(parents=True)
    (run.folder / "compose.yml").write_text("services: {}\n")
    monkeypatch.setattr(leftovers, "WAIT_S", 0)


def test_the_end_of_a_run_takes_away_its_own_and_nothing_else(docker: Docker, run: Run) -> None:
    made = {name: replace(run.services[name], image="bench/made", package="flask==3.1+gabcdef0") for name in "ab"}
    remove_run(replace(run, services={**run.services, **made}))
    left = [f"{what} --quiet --filter label=com.docker.compose.project=p" for what in ("ps --all", "network ls")]
    removed = ["rm --force --volumes p-loadgen-host-1", DOWN.format(run.folder)]
    assert docker.calls == [*removed, *left, "image rm bench/made"]


def test_a_run_that_has_started_nothing_asks_for_nothing(docker: Docker, run: Run) -> None:
    (run.folder / "compose.yml").unlink()
    remove_run(replace(run, services={}))
    assert docker.calls == []


def test_a_network_that_was_still_in_use_is_removed_by_the_next_try(docker: Docker, run: Run) -> None:
    docker.does("network ls", lambda _: Done(0, "1a\n" if len(docker.asked(" down ")) < 2 else "", ""))
    remove_run(run)
    assert len(docker.asked(" down ")) == 2


def test_what_cannot_be_removed_is_said_with_composes_words(docker: Docker, run: Run, capsys: Capture) -> None:
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
    """The projects that were taken down since the last call."""
    names = [call.split()[2] for call in docker.asked(" down ")]
    docker.calls.clear()
    return names


def network(*names: str, made: str = OLD, folder: Path | str = "yes") -> str:
    return "".join(f"{name}\t{made}\t{folder}\n" for name in names)


def test_dead_runs_are_removed_with_their_running_containers(docker: Docker, tmp_path: Path) -> None:
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


def test_locked_run_without_containers(docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker.says("network ls", network("bench-live", folder=tmp_path))
    with (tmp_path / ".writer").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_dead_runs() and removed(docker) == []
    assert remove_dead_runs() and removed(docker) == ["bench-live"]
    monkeypatch.setattr("driver.engines.dead_runs.is_locked", Mock(side_effect=PermissionError))
    assert remove_dead_runs() and removed(docker) == []


def test_a_run_that_this_user_may_not_look_at_is_left_alone(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    docker.says("network ls", network("bench-theirs"))
    docker.says("=bench-theirs ", "theirs-1\n")
    docker.says("inspect", "/home/theirs/bench/results/run\n")
    monkeypatch.setattr(Path, "exists", Mock(side_effect=PermissionError))
    assert remove_dead_runs() and removed(docker) == []


def test_what_may_just_be_starting_is_left_alone(docker: Docker) -> None:
    docker.says("network ls", network("bench-new", made=time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime())))
    assert remove_dead_runs() and removed(docker) == []


def test_without_an_engine_no_run_is_dead(docker: Docker) -> None:
    docker.says("network ls", status=1)
    assert not remove_dead_runs()


def test_services_of_compose_up_are_removed_once_bench_has_ended(docker: Docker, tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services/matrix.toml").touch()
    docker.says("network ls", network("bench"))
    docker.says("project=bench ", "a-service\n")
    docker.says("inspect", f"{tmp_path}\n")
    # Services started without `bench` have no state of it.
    for state, gone in (("running", []), ("created", []), ("", []), ("exited", ["bench"])):
        docker.says(f"service=bench --filter label=com.docker.compose.project.working_dir={tmp_path}", f"{state}\n")
        assert remove_dead_runs() and removed(docker) == gone


RUN = "bench-20260101-120000-quick-4711"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "services").mkdir()
    (tmp_path / "results").mkdir(exist_ok=True)
    (tmp_path / "services/matrix.toml").touch()
    monkeypatch.setenv("BENCH_ROOT", str(tmp_path))
    return tmp_path


def lines(*rows: str) -> str:
    """Output lines of Docker, with fields separated by tabs."""
    return "".join(row.replace(" ", "\t") + "\n" for row in rows)


def test_a_runs_containers_and_network_are_ours_and_nobody_elses_of_a_similar_name(docker: Docker, clone: Path) -> None:
    theirs = ("2 exited bench-press /home/someone/bench-press", "3 exited bench /home/someone/bench")
    similar = "5 exited bench-20260101-120000-quick /home/someone/x"
    ours = (f"1 exited {RUN} {clone}/results/20260101-120000-quick", f"4 exited bench {clone}")
    docker.says("ps --all", lines(*ours, *theirs, similar))
    docker.says("label=bench.run", "6 exited\n")
    docker.says("network ls", lines(f"7 {RUN} ", "8 bench ", "9 bench yes", "10 bench-press "))
    docker.says("volume ls", lines(f"data {RUN}", "theirs bench"))
    assert find_left() == Left(["1", "4", "6"], ["7", "9"], ["data"], [])


def test_nothing_of_a_run_under_way_is_removed(docker: Docker, clone: Path) -> None:
    dead, removed = "bench-20260101-120000-quick-99", "bench-20260101-120000-quick-98"
    folders = {"1": "live", "3": "dead", "5": "removed"}
    for name in ("live", "dead"):
        (clone / "results" / name).mkdir()
        (clone / "results" / name / ".writer").touch()
    live = [f"{number} {state} {RUN} {clone}/results/live" for number, state in ((1, "running"), (2, "exited"))]
    ended = (f"3 running {dead} {clone}/results/dead", f"5 running {removed} {clone}/results/removed")
    docker.says("ps --all", lines(*live, *ended))
    for container, name in folders.items():
        docker.says(f'working_dir"}}}} {container}', f"{clone}/results/{name}\n")
    docker.says("network ls", lines(f"7 {RUN} ", f"8 {dead} "))
    docker.says("label=bench.run", "4 running\n")
    with (clone / "results/live/.writer").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert find_left() == Left(["3", "5"], ["8"], [], [RUN, "container 4"])
        with pytest.raises(Failure, match=f"nothing is removed while {RUN} is under way"):
            clean.main(["--yes"])
    assert not docker.asked(" rm ") and not docker.asked("rm --force")


MADE = "2026-01-01 10:00:00 +0000 UTC"


def tell_images(docker: Docker, rows: list[tuple[str, list[str]]]) -> None:
    """Let the engine list these images, each with its labels."""
    docker.says("system df --verbose", "".join(f"{row}\n" for row, _ in rows))

    def labelled(call: str) -> str:
        wanted = [word.removeprefix("--filter=label=") for word in call.split() if word.startswith("--filter=label=")]
        return "".join(f"{row.split()[0]}\n" for row, labels in rows if set(wanted) <= set(labels))

    docker.does("image ls", lambda call: Done(0, labelled(call), ""))


def test_an_image_is_ours_by_its_label_and_by_its_name_where_it_has_one(docker: Docker, tmp_path: Path) -> None:
    parts = rows(__file__, "images")
    young = ("sha256:c bench/flask:latest 2MB 2099-01-01 10:00:00 +0000 UTC", ["bench.image"])
    tell_images(docker, [*((f"{row} {MADE}", labels.split()) for row, labels, _ in parts), young])
    found = find_images(tmp_path)
    names = {row.split()[0] if "<none>" in row else row.split()[1]: kind for row, _, kind in parts}
    expected = names | {"bench/flask:latest": "kept"}
    assert {name: kind for kind in KINDS for name, _ in found[kind]} == expected
    sizes = [size for kind in ("service", "replaced") for _, size in found[kind]]
    assert count("words", sizes) == "words: 4, 7.5 MB that no other image shares"
    assert count("words", ["N/A"]) == "words: 1, of unknown size" and count("words", []) == "words: 0"


def test_an_interrupted_run_keeps_its_images_and_one_with_a_report_does_not(docker: Docker, tmp_path: Path) -> None:
    for number, name in enumerate(("cut", "whole", "out-of-time"), 1):
        service = tmp_path / "results" / name / "raw/services/app"
        service.mkdir(parents=True)
        (service / "image.id").write_text(f"sha256:{number}\n")
    for name in ("whole", "out-of-time"):
        (tmp_path / "results" / name / "report.md").touch()
    (tmp_path / "results/out-of-time" / UNFINISHED).touch()
    tell_images(docker, [(f"sha256:{number} <none>:<none> 1kB {MADE}", ["bench.image"]) for number in (1, 2, 3)])
    found = find_images(tmp_path)
    assert found["resumable"] == [("sha256:1", "1kB"), ("sha256:3", "1kB")]
    assert found["replaced"] == [("sha256:2", "1kB")]


def test_temporary_folders_are_left_once_they_were_not_touched_for_a_day_and_results_stay(clone: Path) -> None:
    old = time.time() - 2 * 86400
    left, fresh = (Path(tempfile.mkdtemp(prefix=kind, dir=clone / "results")) for kind in (".app-", ".packages-"))
    for name in ("20260101-120000-quick", ".app", ".published"):
        (clone / "results" / name).mkdir()
        if name != ".published":
            os.utime(clone / "results" / name, (old, old))
    os.utime(left, (old, old))
    assert find_folders(clone) == [left, clone / "results/.published"]
    os.utime(fresh, (old, old))
    assert find_folders(clone) == sorted((left, fresh, clone / "results/.published"))


def test_what_is_removed_is_what_was_found_by_name_where_there_is_one(docker: Docker, clone: Path) -> None:
    folder = clone / "results/.app-a b"
    folder.mkdir()
    images = {kind: [] for kind in KINDS} | {"replaced": [("sha256:2", "1kB")]}
    images |= {"service": [("bench/x:latest", "1kB")], "kept": [("bench/y:latest", "1kB")]}
    remove_all(clone, Left(["1", "2"], ["7"]), images, [folder], [])
    assert docker.calls == ["rm --force --volumes 1 2", "network rm 7", "image rm sha256:2 bench/x:latest"]
    assert not folder.exists()


def test_without_yes_nothing_is_removed(docker: Docker, clone: Path, capsys: Capture) -> None:
    docker.says("ps --all", lines(f"1 exited {RUN} /x"))
    docker.says("label=bench.run", "")
    docker.says("system df --format", "Images 9GB\nBuild Cache 3.5GB\n")
    docker.says("info", f"{clone}\n")
    clean.main([])
    said = capsys.readouterr()
    assert said.out.startswith("containers of runs that have ended: 1\nnetworks: 0\n")
    assert "cache of this engine: 3.5GB" in said.out
    assert said.err == "nothing is removed without --yes\n"
    assert not docker.asked("rm --force")
    clean.main(["--yes", "--build-cache"])
    assert docker.asked("rm --force --volumes 1") and docker.calls[-1] == "builder prune --all --force"
    assert capsys.readouterr().out.splitlines()[-1].startswith("free on the engine's disk: ")


WRONG = {
    "--yse": "unknown argument '--yse'; did you mean --yes? see --help",
    "--build": "unknown argument '--build'; did you mean --build-cache? see --help",
    "all": "unknown argument 'all'; did you mean --all? see --help",
    "--volumes=1": "unknown argument '--volumes'; see --help",
    "--images-older-than": "--images-older-than needs a value; see --help",
    "--images-older-than -5": "argument --images-older-than: '-5' is not a number of days; see --help",
}


@pytest.mark.parametrize("options", WRONG)
def test_a_wrong_option_is_refused_before_anything_is_removed(docker: Docker, options: str) -> None:
    assert refused(Failure, clean.main, ["--yes", *options.split()]) == Failure(USER, WRONG[options])
    assert docker.calls == []


def test_a_run_that_is_still_building_is_under_way(docker: Docker, clone: Path) -> None:
    docker.says("system df --format", "Images 9GB\nBuild Cache 3.5GB\n")
    writer = clone / "results/20260101-120000-quick/.writer"
    writer.parent.mkdir()
    with writer.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Failure, match="nothing is removed while 20260101-120000-quick is under way"):
            clean.main(["--yes"])
