"""What happens before the load: images, a user's own app, servers that already run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from captured import Capture, refused
from pretend_engine import PretendEngine, made_run, pretend_docker
from tables import rows

from driver.docker import CONFINED, Done
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
    build.build_images(engine, build.images_to_build(engine))
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
    of_app = {name: replace(run.services[name], built_as="app-1", image="bench/app") for name in ("app-1", "app-8")}
    return replace(run, services={**run.services, **of_app})


def test_shared_image_is_built_once_and_fails_all_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shared(tmp_path)
    assert built(run, monkeypatch) == (["app-1 other"], [])
    builds, failures = built(run, monkeypatch, broken="app-1")
    assert sorted(builds) == ["app-1", "app-1 other", "other"]
    assert failures == ["service-failed a-run app-1 build", "service-failed a-run app-8 build"]
    assert (run.service_folder("app-8") / "build.log").read_text() == "no such package\n"


def test_resumed_run_keeps_the_images_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shared(tmp_path)
    (run.service_folder("app-8") / "image.id").write_text("sha256:5\n")
    assert built(run, monkeypatch)[0] == ["other"]
    assert "tag sha256:5 bench/app\n" in (tmp_path / "docker.calls").read_text()
    (run.service_folder("other") / "image.id").write_text("sha256:6\n")
    gone = pretend_docker(tmp_path / "scripts", monkeypatch, "[[ $1 != tag || $2 != sha256:5 ]]")
    engine = PretendEngine(run)
    build.build_images(engine, build.images_to_build(engine))
    assert gone.read_text().splitlines()[-1] == BUILDS.format(run.folder) + "app-1"


def test_resumed_run_does_not_build_failed_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shared(tmp_path)
    (run.service_folder("app-1") / "failure.json").write_text("{}")
    assert built(run, monkeypatch)[0] == ["app-1 other"]
    (run.service_folder("app-8") / "failure.json").write_text("{}")
    assert built(run, monkeypatch)[0] == ["other"]


def test_missing_base_fails_its_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    run = made_run(tmp_path, "a", "b")
    run = replace(run, services={**run.services, "b": replace(run.services["b"], base_image="x:1")})
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
        failure = Failure(expected, "bench: results/a-run cannot be written")
        assert refused(Failure, build.ask_again, engine) == failure


APP = OwnApp("main:app", before="./load rows")
COMPOSE = "compose --project-name bench-a-run --file {}/compose.yml "
LOST = "--before: what it changed in the app's folder cannot be kept: "


def engine_with(root: Path, *targets: str, app: OwnApp | None = APP, **services: list[str]) -> PretendEngine:
    return PretendEngine(made_run(root, "a", "b", "c", "d", own_app=app, targets=targets), **services)


def begun(engine: PretendEngine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that matter, after the verbs `build` and `begin`."""
    for verb in (build, begin):
        monkeypatch.setattr(verb, "open_run", lambda name: engine.run)
        monkeypatch.setattr(verb, "engine_of", lambda run: engine)
    monkeypatch.setattr(build, "missing_bases", lambda *_: set())
    engine.run.root.joinpath("docker.calls").write_text("")
    build.main(["a-run"])
    begin.main(["a-run"])
    lines = engine.run.root.joinpath("docker.calls").read_text().splitlines()
    told = [line for line in lines if line.startswith(("compose", "exec", "run", "rm", "volume"))]
    # The two of a pipe start at the same time.
    pipes = [at for at, line in enumerate(told) if line.startswith("run --rm --interactive")]
    for at in pipes:
        other = at - 1 if "/app/changes" in told[at - 1] else at + 1
        low, high = sorted((at, other))
        told[low], told[high] = sorted((told[low], told[high]))
    return told


def test_app_is_tried_in_the_first_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    pretend_docker(tmp_path, monkeypatch, "[[ $1 != run ]] || cat >/dev/null; echo said")
    engine = engine_with(tmp_path)
    (engine.run.service_folder("a") / "failure.json").write_text("{}")
    compose, builds = COMPOSE.format(engine.run.folder), BUILDS.format(engine.run.folder)
    once = f"{compose}run --detach --rm --no-deps --name bench-a-run-once --entrypoint sleep b"
    keeper = f"run --rm --interactive --label bench.run=bench-a-run {' '.join(CONFINED)} --network none --memory 256m"
    keeper += " --ulimit nofile=1024 --user 0:0 --volume bench-a-run_app-changes:/to:nocopy bench/loadgen sh -c "
    ready = f"{compose}up --detach --no-build --no-recreate --wait --wait-timeout 120 own-redis"
    before = [
        f"{once} 360",
        f"exec bench-a-run-once /app/fill-folder sh -c {own_app.BEFORE}./load rows",
        # The two of a pipe start at the same time.
        *sorted(("exec bench-a-run-once /app/changes", keeper + "head --bytes=300M >/to/changes.tar")),
        "rm --force --volumes bench-a-run-once",
    ]
    assert begun(engine, monkeypatch) == [
        f"{compose}build --progress plain own-redis",
        f"{builds}b",
        ready,
        f"{once} 90",
        "exec bench-a-run-once /app/fill-folder python3 -c import app",
        "rm --force --volumes bench-a-run-once",
        *before,
        f"{builds}c d",
    ]
    steps = ["dependencies", "start b", "own-answers record a-run b", "stop b"]
    assert engine.calls(*(step.split()[0] for step in steps)) == ["dependencies", *steps]
    assert (engine.run.folder / "app/import.txt").read_text() == "said\n"
    assert (engine.run.service_folder("b") / "server.log").read_text() == "last words of b\n"
    told = "building 3 services\nbefore the load: ./load rows\nright answers recorded on b\n"
    assert capsys.readouterr().err == told
    (engine.run.folder / "app/answers.json").write_text("{}")
    # A resumed run has new, empty services: they are filled again, and nothing is recorded anew.
    volumes = ["volume ls --quiet --filter label=com.docker.compose.project=bench-a-run", "volume rm said"]
    assert begun(engine, monkeypatch) == [
        f"{compose}build --progress plain own-redis",
        f"{builds}b c d",
        "rm --force --volumes bench-a-run-own-redis-1",
        *volumes,
        ready,
        *before,
    ]
    # Without such services, the volume with what the command has changed is new all the same.
    engine.run = replace(engine.run, dependencies=("loadgen",))
    assert begun(engine, monkeypatch) == [f"{builds}b c d", *volumes, *before]


@pytest.mark.parametrize(("broken", "there", "order"), rows(__file__, "orders"))
def test_the_first_image_is_the_first_that_is_there_or_can_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, there: str, order: list[str]
) -> None:
    pretend_docker(tmp_path, monkeypatch, f'[[ " $* " != *" build "*" {broken} "* ]]')
    engine = engine_with(tmp_path, app=replace(APP, before=""))
    for name in there:
        (engine.run.service_folder(name) / "image.id").write_text("sha256:5\n")
    monkeypatch.setattr(own_app, "import_own_app", lambda *words: build.docker("compose", f"import {words[-1]}"))
    builds = BUILDS.format(engine.run.folder)
    steps = [line.removeprefix(builds).removeprefix("compose ") for line in begun(engine, monkeypatch)]
    assert [step for step in steps if "own-redis" not in step] == order


def test_failed_import_ends_the_run_before_other_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = pretend_docker(tmp_path, monkeypatch, '[[ $* != *"import app" ]]')
    with pytest.raises(Failure, match=r"^main:app does not import"):
        begun(engine_with(tmp_path), monkeypatch)
    assert [line.split()[-1] for line in calls.read_text().splitlines() if " build " in line] == ["own-redis", "a"]


@pytest.mark.parametrize(("writes", "revived", "times"), [(True, 0, 1), (False, 0, 0), (False, 1, 1), (True, 1, 2)])
def test_services_of_an_app_that_writes_are_new_before_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, writes: bool, revived: int, times: int
) -> None:
    calls = pretend_docker(tmp_path, monkeypatch)
    requests = ("GET /", "POST /orders") if writes else ("GET /", "HEAD /")
    engine = engine_with(tmp_path, app=replace(APP, targets=tuple({"request": request} for request in requests)))
    engine.revived = [("own-redis",)] * revived
    restore(engine)
    told = calls.read_text()
    assert (told.count("rm --force --volumes bench-a-run-own-redis-1\n"), told.count("./load rows")) == (times, times)
    # The processes of new containers are looked up.
    assert engine.calls()[-1] == "revive"


@pytest.mark.parametrize(("script", "words"), rows(__file__, "app_errors"))
def test_app_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, script: str, words: str) -> None:
    pretend_docker(tmp_path, monkeypatch, script)
    engine = engine_with(tmp_path)
    if "waits" in script:
        engine.run.settings["IMPORT_TIMEOUT"] = "0.2"  # type: ignore[index]
    for name in ("import", "before"):
        trace = Done(0, "Traceback:\n  main.py\nValueError: no luck (main.py, line 1)\n", "")
        engine.said[f"own-trace results/a-run/app results/a-run/app/{name}.txt"] = trace
    assert refused(Failure, own_app.try_own_app, engine) == Failure(2, words)
    assert ("Traceback:\n  main.py\n" in capsys.readouterr().err) == ("no luck" in words)


def test_where_no_server_could_be_built_the_reason_of_the_first_is_said(tmp_path: Path) -> None:
    engine = engine_with(tmp_path)
    for name in engine.run.services:
        (engine.run.service_folder(name) / "failure.json").write_text(json.dumps({"detail": f'no "wheel" of {name}'}))
    with pytest.raises(Failure, match=r'^no server could be built with main:app: no "wheel" of a$'):
        own_app.try_own_app(engine)


def test_answers_are_those_of_the_first_of_three_servers_that_gives_any(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, broken=["a"], silent=["b"])
    own_app.record_answers(engine, APP, "abcd")
    assert engine.calls("own-answers") == ["own-answers record a-run c"]
    failures = [f"service-failed a-run {name} answer 3" for name in "ab"]
    assert engine.calls("service-failed") == failures
    words = refused(Failure, own_app.record_answers, engine, APP, "abac").words
    assert words == "main:app does not answer on any of a b a"
    engine.said["own-answers record a-run c"] = Done(1, "GET / gives 500\n", "")
    log = "own-trace results/a-run/app results/a-run/raw/services/c/server.log"
    for said, words in (
        ("", ""),
        # The last line of a log need not be about this response.
        ("[7] [INFO] Booting worker with pid: 7\n", ""),
        ("Traceback:\nKeyError: 'x' (a.py, line 3)\n", r"; the last exception in its log: KeyError: 'x' \(a.*\)"),
    ):
        engine.said[log] = Done(0, said, "")
        with pytest.raises(Failure, match=rf"^GET / gives 500{words}$"):
            own_app.record_answers(engine, APP, "c")


@pytest.mark.parametrize(("line", "names"), rows(__file__, "last_lines"))
def test_a_file_that_dockerignore_may_leave_out_is_named(tmp_path: Path, line: str, names: str) -> None:
    app, log = tmp_path / "shop", tmp_path / "before.txt"
    (app / "alembic").mkdir(parents=True)
    (app / "scripts").mkdir()
    (app / "scripts/seed.py").touch()
    (tmp_path / "other").touch()
    log.write_text(f"starts\n{line}\nends\n")
    assert own_app.left_out(str(app), log) == ""
    (app / ".dockerignore").touch()
    words = f"{names} is in the app's folder: its .dockerignore may leave it out of the images"
    assert own_app.left_out(str(app), log) == (words if names else "")
    assert own_app.left_out("", log) == ""


def test_a_file_that_dockerignore_may_leave_out_is_said_of_an_import_and_of_before(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for name in (".dockerignore", "seed.py"):
        (tmp_path / "shop" / name).touch()
    engine = engine_with(tmp_path, app=replace(APP, folder=str(tmp_path / "shop")))
    log = engine.run.folder / "app/before.txt"
    log.parent.mkdir(exist_ok=True)
    log.write_text("python3: can't open file '/srv/app/seed.py': [Errno 2] No such file or directory\n")
    with pytest.raises(Failure, match=r"^--before: status 2: seed\.py is in the app's folder: its \.dockerignore may"):
        own_app.refuse(engine, "--before: status 2", log)
    # Linear in its length: otherwise, this would take minutes.
    log.write_text("No such file or directory" + "a.b-" * 250_000)
    with pytest.raises(Failure, match=r"^--before: status 2$"):
        own_app.refuse(engine, "--before: status 2", log)


def test_one_that_answers_otherwise_has_failed(tmp_path: Path) -> None:
    engine = engine_with(tmp_path)
    engine.said["own-answers check a-run b"] = Done(1, "GET / gives 404\n", "")
    for name in "ab":
        own_app.check_own_answers(engine, name)
    assert engine.calls("service-failed") == ["service-failed a-run b verification"]
    assert (engine.run.service_folder("b") / "verify.txt").read_text() == "GET / gives 404\n"
    assert not engine.run.failed("a")


def test_silent_target_ends_a_new_run_and_is_reported_in_a_resumed_one(tmp_path: Path, capsys: Capture) -> None:
    engine = engine_with(tmp_path, "target-1")
    verify.check_targets(engine)
    steps = ["host-network begins", "target-answers a-run target-1", "host-network ends"]
    assert engine.calls() == steps
    engine.said[steps[1]] = Done(1, "target-1: does not answer: GET /\n", "")
    verify.check_targets(engine)
    assert capsys.readouterr().err == "target-1: does not answer: GET /\n"
    engine.said[steps[1]] = Done(2, "bench: --target http://127.0.0.1:8000 does not answer\n", "")
    failure = Failure(2, "--target http://127.0.0.1:8000 does not answer")
    assert refused(Failure, verify.check_targets, engine) == failure


def test_beside_an_own_app_it_has_to_answer_as_the_app_does(tmp_path: Path) -> None:
    alone = engine_with(tmp_path / "alone", "target-1", app=None)
    verify.verify_targets(alone)
    assert alone.calls() == []
    engine = engine_with(tmp_path, "target-1", "target-2")
    (engine.run.service_folder("target-2") / "failure.json").write_text("{}")
    verify.verify_targets(engine)
    assert engine.calls() == ["host-network begins", "own-answers check a-run target-1", "host-network ends"]
