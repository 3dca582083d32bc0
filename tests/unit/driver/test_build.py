"""The images of services: which are built, together or alone, and what a failure of one means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver.docker import Done
from driver.failure import Failure
from driver.run import Run
from driver.services import build

BUILDS = "compose --project-name bench --file {}/compose.yml build --progress plain "
BASES = """trap_errors() { echo "some are had" >&2; }
find_docker() { :; }
missing_bases() { echo "$*" >>"$(dirname "${BASH_SOURCE[0]}")/asked"; %s; }
"""


def built(
    run: Run, monkeypatch: pytest.MonkeyPatch, broken: str = "none", missing: str = ":"
) -> tuple[list[str], list[str]]:
    """What was built, a call each, and what Python was told."""
    library = run.root / "scripts/lib"
    library.mkdir(parents=True, exist_ok=True)
    (library / "bases.sh").write_text(BASES % missing)
    fails = f'[[ " $* " != *" build "*" {broken} "* ]] || {{ echo "no such package"; exit 1; }}'
    calls = pretend_docker(run.root, monkeypatch, fails)
    calls.write_text("")
    engine = PretendEngine(run)
    build.build_services(engine)
    begin = BUILDS.format(run.folder)
    builds = [line[len(begin) :] for line in calls.read_text().splitlines() if line.startswith(begin)]
    return builds, engine.calls("service-failed")


def test_sixteen_services_are_built_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"app{number:02}" for number in range(18)]
    run = made_run(tmp_path, *names)
    assert built(run, monkeypatch) == ([" ".join(names[:16]), " ".join(names[16:])], [])
    assert (tmp_path / "scripts/lib/asked").read_text() == "python:3.13-slim\n"


def test_where_a_batch_does_not_build_each_is_built_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path, "a", "b", "c")
    builds, failures = built(run, monkeypatch, broken="b")
    assert (builds[0], sorted(builds[1:])) == ("a b c", ["a", "b", "c"])
    assert failures == ["service-failed a-run b build"]
    assert (run.service_folder("b") / "build.log").read_text() == "no such package\n"
    assert (run.folder / "build.log").read_text() == "no such package\n"


def shared(root: Path) -> Run:
    """Services that differ in settings alone, and one that is apart."""
    run = made_run(root, "app-1", "app-8", "other")
    services = {n: replace(s, build="app-1", image="bench/app") if n != "other" else s for n, s in run.services.items()}
    return replace(run, host=replace(run.host, services=services))


def test_an_image_that_services_share_is_built_once_and_its_failure_is_that_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shared(tmp_path)
    assert built(run, monkeypatch) == (["app-1 other"], [])
    builds, failures = built(run, monkeypatch, broken="app-1")
    assert sorted(builds) == ["app-1", "app-1 other", "other"]
    assert failures == ["service-failed a-run app-1 build", "service-failed a-run app-8 build"]
    assert (run.service_folder("app-8") / "build.log").read_text() == "no such package\n"


def test_a_run_that_goes_on_builds_no_image_that_one_of_its_services_has_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shared(tmp_path)
    (run.service_folder("app-8") / "image.id").write_text("sha256:5\n")
    assert built(run, monkeypatch)[0] == ["other"]
    assert "tag sha256:5 bench/app\n" in (tmp_path / "docker.calls").read_text()
    (run.service_folder("other") / "image.id").write_text("sha256:6\n")
    gone = pretend_docker(tmp_path / "scripts", monkeypatch, "[[ $1 != tag || $2 != sha256:5 ]]")
    build.build_services(PretendEngine(run))
    assert gone.read_text().splitlines()[-1] == BUILDS.format(run.folder) + "app-1"


def test_a_base_that_cannot_be_had_is_a_failure_of_its_services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = made_run(tmp_path, "a", "b")
    run = replace(run, host=replace(run.host, services={**run.services, "b": replace(run.services["b"], base="x:1")}))
    builds, failures = built(run, monkeypatch, missing="echo x:1")
    assert (builds, failures) == (["a"], ["service-failed a-run b base x:1"])
    assert capfd.readouterr().err.startswith("some are had\n")
    with pytest.raises(Failure, match=r"^the base images cannot be had; ") as raised:
        built(run, monkeypatch, missing="exit 2")
    assert raised.value.status == 2


def test_services_that_failed_are_tried_again_before_they_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    build.ask_again(engine)
    assert engine.calls() == []
    (engine.run.service_folder("a") / "failure.json").write_text("{}")
    engine.said["retry a-run"] = Done(0, "1 service that failed is tried again: a\n", "")
    build.ask_again(engine)
    assert engine.calls() == ["retry a-run"]
    assert capsys.readouterr().err == "1 service that failed is tried again: a\n"
