"""What happens before the load: images, a user's own app, servers that already run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from captured import Capture
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver.docker import Done
from driver.failure import Failure
from driver.lifecycle import begin
from driver.messages import OwnApp
from driver.run import Run
from driver.services import build, own_app, verify
from driver.steps.measure import restore

BUILDS = "compose --project-name bench --file {}/compose.yml build --progress plain "
BASES = """trap_errors() { echo "some are had" >&2; }
find_docker() { :; }
missing_bases() { echo "$*" >>"$(dirname "${BASH_SOURCE[0]}")/asked"; %s; }
"""


def built(
    run: Run, monkeypatch: pytest.MonkeyPatch, broken: str = "none", missing: str = ":"
) -> tuple[list[str], list[str]]:
    """The calls that build images, and the failures reported to Python."""
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
    """Two services that differ only in settings, and another one."""
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    run = made_run(tmp_path, "a", "b")
    run = replace(run, host=replace(run.host, services={**run.services, "b": replace(run.services["b"], base="x:1")}))
    builds, failures = built(run, monkeypatch, missing="echo x:1")
    assert (builds, failures) == (["a"], ["service-failed a-run b base x:1"])
    assert capfd.readouterr().err.startswith("some are had\n")
    with pytest.raises(Failure, match=r"^no base images; ") as raised:
        built(run, monkeypatch, missing="exit 2")
    assert raised.value.status == 2


def test_services_that_failed_are_tried_again_before_they_are_built(tmp_path: Path, capsys: Capture) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    build.ask_again(engine)
    assert engine.calls() == []
    (engine.run.service_folder("a") / "failure.json").write_text("{}")
    engine.said["retry a-run"] = Done(0, "1 service that failed is tried again: a\n", "")
    build.ask_again(engine)
    assert engine.calls() == ["retry a-run"]
    assert capsys.readouterr().err == "1 service that failed is tried again: a\n"
    for status, expected in ((2, 2), (1, 1), (137, 1)):
        engine.said["retry a-run"] = Done(status, "", "bench: results/a-run cannot be written\n")
        with pytest.raises(Failure, match=r"^bench: results/a-run cannot be written$") as raised:
            build.ask_again(engine)
        assert raised.value.status == expected


APP = OwnApp("main:app", before="./load rows")
COMPOSE = "compose --project-name bench-a-run --file {}/compose.yml "


def engine_with(root: Path, *targets: str, app: OwnApp | None = APP, **services: list[str]) -> PretendEngine:
    return PretendEngine(made_run(root, "a", "b", "c", "d", own_app=app, targets=targets), **services)


def test_its_services_come_up_it_is_imported_its_command_runs_and_answers_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls = pretend_docker(tmp_path, monkeypatch, "echo said")
    engine = engine_with(tmp_path)
    (engine.run.service_folder("a") / "failure.json").write_text("{}")
    monkeypatch.setattr(begin, "open_run", lambda name: engine.run)
    monkeypatch.setattr(begin, "engine_of", lambda run: engine)
    assert begin.main(["a-run"]) == 0
    compose = COMPOSE.format(engine.run.folder)
    once = "run --rm --no-deps --no-TTY --name bench-a-run-once --entrypoint  b"
    assert [line for line in calls.read_text().splitlines() if line.startswith(("compose", "rm"))] == [
        f"{compose}up --detach --no-build --no-recreate --wait --wait-timeout 120 own-redis",
        f"{compose}{once} python3 -c import app",
        "rm --force --volumes bench-a-run-once",
        f"{compose}{once} sh -c {own_app.BEFORE}./load rows",
        "rm --force --volumes bench-a-run-once",
    ]
    assert engine.calls() == ["dependencies", "start b", "own-answers record a-run b", "stop b"]
    assert (engine.run.folder / "app/import.txt").read_text() == "said\n"
    assert (engine.run.service_folder("b") / "server.log").read_text() == "last words of b\n"
    assert capsys.readouterr().err == "before the load: ./load rows\nright answers recorded on b\n"
    (engine.run.folder / "app/answers.json").write_text("{}")
    calls.write_text("")
    own_app.ready_own_app(engine)
    # A resumed run has new, empty services: they are filled again, and nothing is recorded anew.
    assert [line for line in calls.read_text().splitlines() if line.startswith(("compose", "rm", "volume"))] == [
        "rm --force --volumes bench-a-run-own-redis-1",
        "volume ls --quiet --filter label=com.docker.compose.project=bench-a-run",
        "volume rm said",
        f"{compose}up --detach --no-build --no-recreate --wait --wait-timeout 120 own-redis",
        f"{compose}{once} sh -c {own_app.BEFORE}./load rows",
        "rm --force --volumes bench-a-run-once",
    ]


@pytest.mark.parametrize(("writes", "revived", "times"), [(True, 0, 1), (False, 0, 0), (False, 1, 1), (True, 1, 2)])
def test_services_of_an_app_that_writes_are_new_before_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, writes: bool, revived: int, times: int
) -> None:
    calls = pretend_docker(tmp_path, monkeypatch)
    engine = engine_with(tmp_path, app=replace(APP, writes=writes))
    engine.revived = [("own-redis",)] * revived
    restore(engine)
    told = calls.read_text()
    assert (told.count("rm --force --volumes bench-a-run-own-redis-1\n"), told.count("./load rows")) == (times, times)
    # The processes of new containers are looked up.
    assert engine.calls()[-1] == "revive"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            '[[ $* != *" up "* ]] || { echo "redis is unhealthy"; exit 1; }',
            "--compose: redis is unhealthy; last log line: ",
        ),
        ('[[ $* != *"import app" ]] || exit 1', "main:app does not import: ValueError: no luck (main.py, line 1)"),
        ('[[ $* != *"./load rows" ]] || exit 7', "--before: status 7: ValueError: no luck (main.py, line 1)"),
        (
            '[[ $* != *"import app" ]] || { echo "it waits"; sleep 9; }',
            "main:app does not import: not done after 0.2 s (IMPORT_TIMEOUT in the environment changes that); last log"
            " line: it waits",
        ),
    ],
)
def test_what_goes_wrong_is_said_with_the_apps_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, script: str, words: str
) -> None:
    pretend_docker(tmp_path, monkeypatch, script)
    engine = engine_with(tmp_path)
    if "waits" in script:
        engine.run.settings["IMPORT_TIMEOUT"] = "0.2"  # type: ignore[index]
    for name in ("import", "before"):
        trace = Done(0, "Traceback:\n  main.py\nValueError: no luck (main.py, line 1)\n", "")
        engine.said[f"own-trace results/a-run/app/{name}.txt"] = trace
    with pytest.raises(Failure) as raised:
        own_app.ready_own_app(engine)
    assert (raised.value.status, raised.value.words) == (2, words)
    assert ("Traceback:\n  main.py\n" in capsys.readouterr().err) == ("no luck" in words)


def test_where_no_server_could_be_built_the_reason_of_the_first_is_said(tmp_path: Path) -> None:
    engine = engine_with(tmp_path)
    for name in engine.run.services:
        (engine.run.service_folder(name) / "failure.json").write_text(json.dumps({"detail": f'no "wheel" of {name}'}))
    with pytest.raises(Failure, match=r'^no server could be built with main:app: no "wheel" of a$'):
        own_app.ready_own_app(engine)


def test_answers_are_those_of_the_first_of_three_servers_that_gives_any(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, broken=["a"], silent=["b"])
    own_app.record_answers(engine, APP, "abcd")
    assert engine.calls("own-answers") == ["own-answers record a-run c"]
    failures = [f"service-failed a-run {name} answer 3" for name in "ab"]
    assert engine.calls("service-failed") == failures
    with pytest.raises(Failure, match=r"^main:app does not answer on any of a b a$"):
        own_app.record_answers(engine, APP, "abac")
    engine.said["own-answers record a-run c"] = Done(1, "GET / gives 500\n", "")
    with pytest.raises(Failure, match=r"^GET / gives 500$"):
        own_app.record_answers(engine, APP, "c")


def test_one_that_answers_otherwise_has_failed(tmp_path: Path) -> None:
    engine = engine_with(tmp_path)
    engine.said["own-answers check a-run b"] = Done(1, "GET / gives 404\n", "")
    for name in "ab":
        own_app.check_own_answers(engine, name)
    assert engine.calls("service-failed") == ["service-failed a-run b verification"]
    assert (engine.run.service_folder("b") / "verify.txt").read_text() == "GET / gives 404\n"
    assert not engine.run.failed("a")


def test_a_server_that_already_runs_and_does_not_answer_ends_a_run_that_begins_and_is_said_in_one_that_goes_on(
    tmp_path: Path, capsys: Capture
) -> None:
    engine = engine_with(tmp_path, "target-1")
    verify.check_targets(engine)
    steps = ["host-network begins", "target-answers a-run target-1", "host-network ends"]
    assert engine.calls() == steps
    engine.said[steps[1]] = Done(1, "target-1: does not answer: GET /\n", "")
    verify.check_targets(engine)
    assert capsys.readouterr().err == "target-1: does not answer: GET /\n"
    engine.said[steps[1]] = Done(2, "bench: --target http://127.0.0.1:8000 does not answer\n", "")
    with pytest.raises(Failure, match=r"^--target http://127.0.0.1:8000 does not answer$") as raised:
        verify.check_targets(engine)
    assert raised.value.status == 2


def test_beside_an_own_app_it_has_to_answer_as_the_app_does(tmp_path: Path) -> None:
    alone = engine_with(tmp_path / "alone", "target-1", app=None)
    verify.verify_targets(alone)
    assert alone.calls() == []
    engine = engine_with(tmp_path, "target-1", "target-2")
    (engine.run.service_folder("target-2") / "failure.json").write_text("{}")
    verify.verify_targets(engine)
    assert engine.calls() == ["host-network begins", "own-answers check a-run target-1", "host-network ends"]
