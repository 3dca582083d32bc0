"""The options of scripts/matrix.sh: their meaning, which do not go together, and what a repetition takes over."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from captured import Capture, refused
from docker_calls import Docker
from make_plans import MATRIX
from tables import cases, rows

from driver.docker import Done
from driver.failure import Failure, Interrupted
from driver.messages import MessageError
from driver.origin import is_from_here, note, note_origin
from driver.planning import bisect, matrix, refs
from driver.planning.matrix import Request, check_machines, need_results, read_request, refuse_typos, repeat
from driver.planning.own_app import prepare_own_app
from driver.planning.packages import _build_packages, prepare_packages
from driver.planning.tools import words_of_build
from driver.run import ROOT

CONTEXTS = ["--server-context", "a", "--loadgen-context", "b", "--server-address", "c"]


def test_the_selection_is_what_no_other_option_is() -> None:
    words = "--stack x --package a==1 --package=./b --with c==1 --with=./d --app shop main:app --apt gcc --before ''"
    request = read_request([*shlex.split(words), *["--swarm", "--list", "--resume", "r/", "--setup"], *CONTEXTS])
    assert request.selection == shlex.split("--stack x --package a==1 --package ./b --with c==1 --with ./d")
    assert (request.packages, request.together) == (["a==1", "./b"], ["c==1", "./d"])
    assert request.own == {"folder": "shop", "app": "main:app", "apt": "gcc", "before": ""}
    assert (request.verb, request.resume, request.swarm, request.set_up) == ("list", "r/", True, True)
    assert request.machines == {"server-context": "a", "loadgen-context": "b", "server-address": "c"}
    assert read_request(["--dry-run"]).verb == "commands"
    names = read_request(["--list", "stacks"])
    assert (names.verb, names.listed, names.selection) == ("names", "stacks", [])


@pytest.mark.parametrize(
    ("typo", "meant"), [("--hlep", "--help"), ("--stak=aiohttp", "--stack"), ("--rouns", "--rounds")]
)
def test_a_mistyped_option_is_refused_before_any_set_up(typo: str, meant: str) -> None:
    with pytest.raises(Failure, match=rf"unknown option '{typo.partition('=')[0]}'; did you mean {meant}\?"):
        refuse_typos(["--preset", "quick", typo, "3"])
    refuse_typos(["--flags", "uvicorn: --http h11", "--package=a==1", "--list", "stacks"])
    for read in (refs.read_request, bisect.read_request):
        with pytest.raises(Failure, match="did you mean"):
            read(["v1", "v2", "--stack", "aiohttp", typo, "3"])


def test_a_source_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    request = read_request(["--package", "./mine", "--package=mine@v1", "--package", "a==1"])
    assert request.packages == ["./mine", "mine@v1", "a==1"]
    there = tmp_path / "mine"
    assert request.selection == ["--package", f"{there}", "--package", f"{there}@v1", "--package", "a==1"]


def test_a_run_that_goes_on_is_not_listed() -> None:
    with pytest.raises(Failure, match="leave out --resume"):
        matrix.main(["--resume", "r", "--dry-run"])


def test_a_setting_that_no_service_could_be_verified_with_is_refused_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READY_TIMEOUT", "-1")
    with pytest.raises(Failure, match="READY_TIMEOUT='-1' is not a number of seconds"):
        matrix.main(["--list", "--preset", "quick"])


def test_a_setup_runs_only_if_needed_and_one_that_is_interrupted_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Mock(**{"wait.side_effect": [Interrupted, 143]})
    monkeypatch.setattr(matrix.subprocess, "Popen", lambda _: setup)
    monkeypatch.setattr(matrix.harness, "is_set_up", lambda: True)
    monkeypatch.setattr(matrix.harness, "print_lacks", setup.print_lacks)
    matrix.set_up()
    assert setup.mock_calls == [call.print_lacks()]
    monkeypatch.setattr(matrix.harness, "is_set_up", lambda: False)
    refused(Interrupted, matrix.set_up)
    assert setup.mock_calls[1:] == [call.wait(), call.terminate(), call.wait(matrix.SETUP_ENDS_S)]


@pytest.mark.parametrize(("told", "limit"), [("a-run \n", ""), ("a-run 1200\n", "1200")])
def test_time_limit_of_a_resumed_run(monkeypatch: pytest.MonkeyPatch, told: str, limit: str) -> None:
    calls: list[list[str]] = []
    for name in ("need_results", "set_up", "check_machines"):
        monkeypatch.setattr(matrix, name, lambda *_: [])
    monkeypatch.setattr(matrix.harness, "can_plan", lambda: True)
    monkeypatch.setattr(matrix, "bench", lambda *_: told)
    monkeypatch.setattr(matrix, "is_from_here", lambda root, folder: folder == ROOT / "results/a-run")
    monkeypatch.setattr(matrix.hold, "main", lambda words: calls.append(words) or 0)
    monkeypatch.chdir(ROOT)
    assert matrix.main(["--resume", "a-run"]) == 0
    assert calls == [["a-run", "--resume", "--", "scripts/measure.sh", "a-run", limit]]


def test_quiet_holds_for_all_that_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_QUIET", "")
    assert read_request(["--quiet"]).selection == [] and os.environ["BENCH_QUIET"] == "1"


NEEDS = {
    "the name of a run": ["--resume", "--again"],
    "a value": ["--package", "--package a==1 --with", "--server-context", "--targets"],
    "a folder and MODULE:CALLABLE": ["--app shop", "--app shop --list"],
}


@pytest.mark.parametrize(("words", "what"), cases(NEEDS))
def test_an_option_without_its_value_is_refused(words: str, what: str) -> None:
    *_, option = re.findall(r"--(?!list)\S+", words)
    assert f"{option} needs {what}" in refused(Failure, read_request, words.split()).words


SEVERAL = " ".join(CONTEXTS)
ALONE = {
    "--server-context a": "belong together: give all three",
    f"{SEVERAL} --swarm": "without a swarm",
    f"{SEVERAL} --resume r": "--resume uses the machines",
    f"{SEVERAL} --target http://x": "--target works on this machine only",
    "--swarm --target=http://x": "--target works on this machine only",
    "--swarm --profile": "--profile works on this machine only",
    "--swarm --app shop main:app": "--app works on this machine only",
}


@pytest.mark.parametrize("words", ALONE)
def test_what_does_not_go_with_several_machines_is_refused(words: str) -> None:
    assert ALONE[words] in refused(Failure, check_machines, read_request(words.split())).words


def test_two_machines_and_a_swarm_are_taken() -> None:
    assert check_machines(read_request(CONTEXTS)) == ["a", "b", "c"]
    assert check_machines(read_request(["--swarm", "--rounds", "2"])) == []


THEN = {
    "selection": ["--server", "gunicorn-*", "--package", "a==1", "--with", "b==1", "--again=a-run"],
    "own_options": ["--app", "/srv/my shop", "main:app", "--before", "python3 seed.py", "--targets", "/srv/targets"],
    **{"bases": ["here", "gone"], "own_app": "main:app", "folder": "results/a-run"},
}


@pytest.fixture
def project_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that was planned there, a-run."""
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    (tmp_path / ".env").write_text("NOFILE=1024\n")
    (tmp_path / "results/a-run").mkdir(parents=True)
    (tmp_path / "results/a-run/run.json").write_text('{"schema": 1, "seed": 7}')
    note_origin(tmp_path, "a-run")
    return tmp_path


def test_a_run_is_from_here_under_any_name_and_on_any_machines_but_not_once_edited(project_root: Path) -> None:
    ours, renamed = project_root / "results/a-run", project_root / "results/b"
    shutil.copytree(ours, renamed)
    (renamed / "run.json").write_text('{"schema": 1, "lanes": {}, "seed": 7, "machines": {}}')
    assert is_from_here(project_root, ours) and is_from_here(project_root, renamed)
    (renamed / "run.json").write_text('{"schema": 1, "seed": 8}')
    assert not is_from_here(project_root, renamed) and not is_from_here(project_root, project_root / "results/none")
    note_origin(Path("/proc"), "a-run")


@pytest.mark.parametrize("filler", ["[],", '{"a":{}},', " "])
def test_a_message_too_large_for_any_of_ours_is_not_parsed(filler: str, project_root: Path) -> None:
    text = f'{{"schema": 1, "x": [{filler * (3 << 20)}0]}}'
    (project_root / "results/a-run/run.json").write_text(text)
    with pytest.raises(MessageError, match="more than 2 Mi characters"):
        is_from_here(project_root, project_root / "results/a-run")


def test_a_run_of_somebody_else_is_not_resumed_unless_it_is_measured_right_now(project_root: Path) -> None:
    folder = project_root / "results/a-run"
    note(project_root, "services: {}\n")
    (folder / "compose.yml").write_text("services: {}\n")
    matrix.need_origin(folder)
    (folder / "app").mkdir()
    for name in ("compose.yml", "app/services.json"):
        kept = (folder / name).read_text() if (folder / name).exists() else ""
        (folder / name).write_text('services: {x: {privileged: true, volumes: ["/:/h"]}}')
        assert "or edited since" in refused(Failure, matrix.need_origin, folder).words
        (folder / name).write_text(kept)
    matrix.need_origin(folder)
    (folder / "run.json").write_text('{"schema": 1, "services": "theirs"}')
    with pytest.raises(Failure, match=r"a-run was not planned in this clone, .* start a new run with --again a-run"):
        matrix.need_origin(folder)
    with (folder / ".writer").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        matrix.need_origin(folder)


READING = [
    (["--app", "/root/x y", "m:a"], [], "--app '/root/x y' m:a"),
    (["--app", "/x", "m:a", "--env-file", "/root/.aws/credentials"], [], "--env-file /root/.aws/credentials"),
    (["--app", "/x", "m:a", "--compose", "/y"], [], "--compose /y"),
    (["--app", "/x", "m:a", "--before", "sh -c 'curl evil'"], [], "--before 'sh -c '\"'\"'curl evil'\"'\"''"),
    *((["--app", "/x", "m:a", f"--{name}", "/y"], [], f"--{name} /y") for name in ("targets", "expect", "head")),
    ([], ["--package", "/root/private"], "--package /root/private"),
    ([], ["--package=/root/private@main"], "--package /root/private@main"),
    ([], ["--package", "a==1", "--package", "./x.whl"], "--package ./x.whl"),
    ([], ["--package", "a==1", "--with", "b==1", "--with=/root/private"], "--with /root/private"),
]


@pytest.mark.parametrize(("options", "selection", "asked"), READING)
def test_options_of_somebody_elses_run_that_read_files_or_run_commands_have_to_be_given_again(
    options: list[str], selection: list[str], asked: str, docker: Docker, project_root: Path
) -> None:
    then = THEN | {"own_options": options, "own_app": "m:a" if options else "", "selection": selection}
    docker.says("-m bench again", json.dumps(then))
    repeat(Request(again="a-run"))
    (project_root / "results/a-run/run.json").write_text('{"schema": 1, "theirs": 1}')
    words = refused(Failure, repeat, Request(again="a-run")).words
    assert "a-run was not planned in this clone" in words and words.endswith(asked)
    own = {"folder": "/mine", "app": "m:a"}
    own |= dict.fromkeys(("env-file", "before", "targets", "expect", "head", "compose"), "mine")
    repeat(given := Request(again="a-run", own=own if options else {}, packages=["mine"]))
    assert "root" not in str(given.own)


def test_a_repetition_takes_over_selection_own_app_and_base_images(docker: Docker, project_root: Path) -> None:
    docker.says("-m bench again a-run --server gunicorn-*", json.dumps(THEN))
    docker.does("image inspect", lambda call: Done(0, "sha256:1,sha256:2\n", "") if "here" in call else Done(1, "", ""))
    request = read_request(["--server", "gunicorn-*", "--targets", "mine"])
    request.again = "a-run"
    assert repeat(request) == ("results/a-run", "here=sha256:1,sha256:2 ")
    assert (request.selection, request.packages, request.together) == (THEN["selection"], ["a==1"], ["b==1"])
    own = {"folder": "/srv/my shop", "app": "main:app", "before": "python3 seed.py", "targets": "mine"}
    assert request.own == own


def test_an_own_app_of_a_run_that_did_not_keep_its_options_needs_them_again(docker: Docker, project_root: Path) -> None:
    docker.says("-m bench again", json.dumps({**THEN, "own_options": []}))
    with pytest.raises(Failure, match="give --app FOLDER main:app and its other options again"):
        repeat(Request(again="a-run"))
    repeat(request := Request(again="a-run", own={"folder": "/srv/shop", "app": "main:app"}))
    assert request.own["folder"] == "/srv/shop"
    docker.says("-m bench again", json.dumps({**THEN, "own_options": ["--gone", "x"]}))
    with pytest.raises(Failure, match="'--gone' is no longer an option for your own app"):
        repeat(Request(again="a-run"))


def describe(project: Path, docker: Docker, files: dict[str, str]) -> None:
    """Has the description of the app write these files for the resolver."""

    def write(call: str) -> Done:
        (folder,) = (project / "results").glob(".app-*")
        (folder / "requirements").mkdir()
        for name, text in ({"requirements.in": "flask"} | files).items():
            (folder / "requirements" / name).write_text(text)
        (folder / "app.json").write_text('{"interface": "wsgi"}')
        return Done(0, "py313 3.13\n", "")

    docker.does("-m bench own-app", write)


@pytest.fixture
def project(tmp_path: Path, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an app that requires flask, on Python 3.13."""
    (tmp_path / "results/a-run/app/locks/py313").mkdir(parents=True)
    (tmp_path / "results/a-run/app/requirements").mkdir()
    (tmp_path / "results/a-run/app/locks/py313/requirements.txt").write_text("flask==1")
    (tmp_path / ".env").write_text("NOFILE=1024\nPYTHON_IMAGE=python\n")
    describe(tmp_path, docker, {})
    monkeypatch.setattr("driver.planning.tools.missing_bases", lambda root, names: set())
    return tmp_path


def test_the_files_of_a_workspace_above_the_app_are_given_to_its_description(project: Path, docker: Docker) -> None:
    app = project / "shop/packages/a"
    app.mkdir(parents=True)

    def given() -> str:
        docker.calls.clear()
        with ExitStack() as files:
            prepare_own_app(project, {"folder": str(app), "app": "main:app"}, [], "results/a-run", files)
        (call,) = docker.asked("-m bench own-app")
        return call

    assert "--workspace" not in given()
    for name in ("pyproject.toml", "uv.lock"):
        assert "--workspace" not in given()
        (project / "shop" / name).touch()
    call = given()
    for name in ("pyproject.toml", "uv.lock"):
        assert f'--mount type=bind,"source={project}/shop/{name}",target=/own/workspace/{name},readonly' in call
    assert " --workspace-here /own/workspace --place packages/a" in call
    # Not of another repository, and not what a link leads to.
    (app.parent / ".git").touch()
    assert "--workspace" not in given()
    (app.parent / ".git").unlink()
    (project / "shop/uv.lock").replace(project / "other.lock")
    (project / "shop/uv.lock").symlink_to(project / "other.lock")
    assert "--workspace" not in given()


@pytest.mark.parametrize(("asked", "builds"), [("flask", 0), ("django", 1)])
def test_lock_is_reused_for_the_same_requirements(project: Path, docker: Docker, asked: str, builds: int) -> None:
    (project / "results/a-run/app/requirements/requirements.in").write_text(asked)
    with ExitStack() as files:
        own = {"folder": str(project), "app": "main:app"}
        (option,) = prepare_own_app(project, own, ["--python", "3.13"], "results/a-run", files)
        folder = project / option.partition("=")[2]
        assert len(docker.asked("buildx build", "--target app-lock", "PYTHON=3.13")) == builds
        assert (folder / "locks/py313/requirements.txt").exists() == (not builds)
        (call,) = docker.asked("own-app", f'--mount type=bind,"source={project}",target=/own/source,readonly')
        assert call.endswith(f" --app main:app --source /own/source --project {project} --python 3.13")
    assert not folder.exists()


@pytest.mark.parametrize(("files", "told", "words"), rows(__file__, "failed_builds"))
def test_failed_builds(project: Path, docker: Docker, files: dict[str, str], told: str, words: str) -> None:
    target = "app-wheels" if "projects.txt" in files else "app-lock"
    describe(project, docker, files)
    docker.says("buildx build", "#9 0.5   × No solution\n", status=1)
    docker.says("-m bench own-build-cause results/.app-", told)
    own = {"folder": str(project), "app": "main:app", "apt": "libpq-dev,g++\tgcc"}
    with ExitStack() as opened, pytest.raises(Failure) as failed:
        prepare_own_app(project, own, ["--python", "3.13"], "", opened)
    assert failed.value.status == 2 and words in str(failed.value)
    calls = docker.asked("buildx build", f"app-source={project} ", "--build-arg APT=libpq-dev g++ gcc ")
    assert [re.findall(r"--target (\S+)", call) for call in calls] == [[target]]
    (cause,) = docker.asked("-m bench own-build-cause")
    assert cause.split()[-1] == target
    assert docker.asked("-m bench own-app", "--apt libpq-dev,g++\tgcc")
    assert (project / "results/app-build.log").read_text() == "#9 0.5   × No solution\n"
    assert not [*(project / "results").glob(".app-*")]


@pytest.mark.parametrize(
    ("told", "words"), [("no compiler: add --apt 'gcc'\n", "no compiler: add --apt 'gcc'"), ("", "end")]
)
def test_app_that_is_no_package(project: Path, docker: Docker, capsys: Capture, told: str, words: str) -> None:
    def lock(call: str) -> Done:
        if "--target app-lock" in call:
            (folder,) = (project / "results").glob(".app-*/locks")
            (folder / "py313").mkdir()
            (folder / "py313/failed.txt").write_text("gcc: command not found\nend\n")
        return Done(0, "", "")

    describe(project, docker, {"projects.txt": ".\twanted\t\t\n"})
    docker.does("buildx build", lock)
    docker.says("-m bench own-build-cause results/.app-", told)
    with ExitStack() as files:
        prepare_own_app(project, {"folder": str(project), "app": "main:app"}, [], "", files)
        (log,) = (project / "results").glob(".app-*/app-build.log")
        assert log.read_text() == "#1 0.1 gcc: command not found\n#1 0.1 end\n"
    said = f"{project} is on the path, but not installed: its wheel cannot be built: {words}\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_python_without_a_base_image_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driver.planning.tools.missing_bases", lambda root, names: set(names))
    with ExitStack() as files, pytest.raises(Failure, match=r"Python 3\.13 has no base image here"):
        prepare_own_app(project, {"folder": str(project), "app": "main:app"}, [], "", files)


def test_what_is_missing_of_an_own_app_is_said(tmp_path: Path) -> None:
    for own, why in (
        ({"before": "x"}, "--before needs --app"),
        ({"folder": "/nowhere", "app": "m:a"}, "there is no folder '/nowhere'"),
        ({"folder": str(tmp_path), "app": "m:a", "targets": "/nowhere"}, "--targets: there is no file '/nowhere'"),
        ({"folder": str(tmp_path), "app": "m:a", "compose": "/nowhere:db"}, "--compose: there is no file '/nowhere'"),
    ):
        with ExitStack() as files, pytest.raises(Failure, match=why):
            prepare_own_app(tmp_path, own, [], "", files)


def test_the_words_of_a_failed_build_are_the_programs_own() -> None:
    log = "#9 [2/2] RUN uv\n#9 0.512   × No solution found:\n#9 0.513 ╰─▶ because\n#9 ERROR: process\n 12 | RUN uv\n"
    assert words_of_build(log) == "× No solution found: ╰─▶ because"


def test_unwritable_results_are_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_results(tmp_path / "new/results")
    words = r"cannot write to /proc/results: .*; free some space there, or make it writable for"
    with pytest.raises(Failure, match=words):
        need_results(Path("/proc/results"))
    anothers = os.stat_result((0o40755, 0, 0, 0, 4711, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda folder, **options: anothers)
    monkeypatch.setattr(matrix, "in_the_way", lambda folder: "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Failure, match=r"belongs to user 4711, .*: run this as that user, or chown it"):
        need_results(tmp_path)


def test_the_build_of_one_package_makes_no_wheel_of_another(project: Path, docker: Docker) -> None:
    def build(call: str) -> Done:
        out = Path(call.partition("dest=")[2].split()[0])
        for name in ("0-1", "1-1"):
            (out / name).mkdir(parents=True, exist_ok=True)
            (out / name / "a.whl").write_text(call.partition("NUMBER=")[2][:1])
        return Done(0, "", "")

    docker.says("-m bench package-pythons --stack x", "py313 3.13\n")
    docker.does("buildx build", build)
    with ExitStack() as files:
        found = prepare_packages(project, ["a==1"], ["b==2"], ["--stack", "x"], files)
        made = project / found.partition("=")[2] / "py313"
        assert {one.parent.name: one.read_text() for one in made.glob("*/*")} == {"0-1": "0", "1-1": "1"}
        assert (made.parents[1] / "items/1/together").exists() and not (made.parents[1] / "items/0/together").exists()


def test_the_packages_of_servers_are_found_without_a_parser_of_toml() -> None:
    known = (server.packages["debian"].build for server in MATRIX.servers.values() if "debian" in server.packages)
    assert sorted(_build_packages(ROOT).split()) == sorted(package for build in known for package in build)


def test_an_interrupt_while_wheels_are_built_leaves_no_folder(project: Path, docker: Docker) -> None:
    def interrupt(call: str) -> Done:
        assert [*(project / "results").glob(".packages-*/items/0/releases")]
        raise Interrupted

    for name, text in {"a": 'build = ["gcc", "make"], run = ["x"]', "b": 'run = ["y"]'}.items():
        (project / "services/servers" / name).mkdir(parents=True)
        (project / "services/servers" / name / "server.toml").write_text(f"debian = {{ {text} }}\n")
    docker.says("-m bench package-pythons --stack x", "py313 3.13\n")
    docker.does("buildx build", interrupt)
    with pytest.raises(Interrupted), ExitStack() as files:
        prepare_packages(project, ["a==1"], [], ["--stack", "x"], files)
    assert docker.asked("BUILD_PACKAGES=gcc make ", "PYTHON=3.13") and not [*project.glob("results/.packages-*")]
