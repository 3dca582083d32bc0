"""Calls of Docker and Compose, the kind of engine, the layers of an image, and files that are written whole."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from captured import refused
from docker_calls import Docker

from driver import docker as kind
from driver import files
from driver.compose import environment, in_tools, need_compose, project_compose, resolved, run_compose
from driver.docker import KEPT, Done, run
from driver.engines.provenance import save_provenance
from driver.failure import Failure
from driver.files import last_line, save, text_of
from driver.messages import OwnApp, Service
from driver.origin import is_noted
from driver.run import Run


def test_a_user_s_own_app_has_its_values_from_its_file_alone(run: Run, docker: Docker) -> None:
    ours = replace(run, own_app=OwnApp("main:app", "/shop/.env", variables=("NOFILE", "NOT_SET")))
    run_compose(ours, "up", context="far", files=[Path("more.yml")])
    files = f"--file {run.folder}/compose.yml --file more.yml --env-file /shop/.env"
    assert docker.calls[-1] == f"--context far compose --project-name p {files} up"
    env = docker.envs[-1] or {}
    assert "NOFILE" not in env and env["SERVER_CPUS"] == "0"
    assert environment(run)["NOFILE"] == "1024"


def test_the_runs_own_file_is_resolved_once_with_what_it_starts_and_builds(run: Run, docker: Docker) -> None:
    here = replace(run, services={"a": Service(built_as="a-build"), "there": run.services["there"]})
    (run.root / ".env").touch()
    (run.folder / "app").mkdir(parents=True)
    (run.folder / "app/services.json").write_text("{}\n")
    docker.says(" config ", "services: {}\n")
    need_compose(here)
    need_compose(here)
    assert docker.calls == [
        f"compose --project-directory {run.root} --file {run.root}/docker-compose.yml --env-file {run.root}/.env "
        f"--project-name p --file {run.folder}/services.yml --file {run.folder}/app/services.json "
        "--profile * config --format yaml loadgen postgres upstream null a a-build"
    ]
    env = docker.envs[0] or {}
    assert (env["WITHOUT_HOST"], env["RUN_FOLDER"]) == ("false", str(run.folder))
    resolved(replace(run, services={}), "json")
    assert (docker.envs[1] or {})["WITHOUT_HOST"] == "true"
    assert docker.calls[1].endswith("config --format json loadgen postgres upstream null")
    assert (run.folder / "compose.yml").read_text() == "services: {}\n" and is_noted(run.root, "services: {}\n")
    project_compose(run.root, "build")
    assert (docker.envs[-1] or {})["COMPOSE_SERVICES"] == "bench"


def test_tools_container_is_confined(run: Run, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    in_tools(run, "python3", "-m", "bench", "plan")
    (call,) = docker.calls
    assert call.startswith("run --rm --interactive --label bench.run=p --network none --ulimit nofile=1024 --user ")
    assert " --memory 4g " in call
    assert call.endswith(f"--volume {run.root}/results:/bench/results bench/loadgen python3 -m bench plan")
    monkeypatch.delenv("NOFILE", raising=False)
    (run.root / ".env").write_text("NOFILE=77\n")
    unset = replace(run, settings={})
    in_tools(unset, "true")
    assert " --network none --ulimit nofile=77 " in docker.calls[-1]
    monkeypatch.setenv("NOFILE", "many")
    with pytest.raises(Failure, match="NOFILE='many' is not a number above 0; fix it in"):
        in_tools(unset, "true")


HERE = f"Debian|{os.uname().release}|[name=seccomp,profile=builtin]|true|true"


ENGINES = [
    ("Engine;containerd;", HERE, "docker"),
    ("Engine;", "", "docker"),
    ("Engine;", f"{HERE}|26.1.5+dfsg1", "docker"),
    ("Engine;", f"{HERE}|dev", "docker"),
    ("Podman Engine;Conmon;", f"{HERE}|5.4.2", "podman"),
    ("Engine;", HERE.replace("]|true|true", " name=rootless]|false|false"), "rootless no-cpuset no-memory"),
    ("Engine;", HERE.replace("Debian", "Docker Desktop 4"), "elsewhere"),
    ("Engine;", "Alpine Linux|0.0.1-linuxkit|[]|true|true", "elsewhere"),
]


@pytest.mark.parametrize("case", ENGINES)
def test_engine_kind_asked_once(docker: Docker, monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, str]) -> None:
    components, facts, expected = case
    monkeypatch.setenv(kind.KIND, "")
    monkeypatch.setattr(os, "getuid", lambda: 5)
    docker.says("version", status=1)
    assert kind.kind_words() == ""
    docker.says("version", components)
    docker.says("info", facts, status=int(not facts))
    assert kind.kind_words() == expected
    docker.calls.clear()
    assert kind.kinds() == frozenset(expected.split())
    assert kind.engine_environment().get("DOCKER_BUILDKIT") == ("0" if "podman" in expected else None)
    assert kind.results_user() == ("0:0" if "rootless" in expected else f"5:{os.getgid()}")
    assert docker.calls == []


def test_an_engine_whose_builder_is_too_old_is_refused(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kind.KIND, "")
    docker.says("version", "Engine;")
    docker.says("info", f"{HERE}|20.10.24+dfsg1")
    for _ in range(2):
        with pytest.raises(Failure, match=r"^Docker's engine is 20\.10\.24\+dfsg1, and 23 is the oldest that works"):
            kind.kind_words()


def test_the_client_is_the_first_that_has_compose_and_buildx(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    plugins = {"docker": "compose 2.9.0;buildx 0.13;", "/usr/local/bin/docker": "buildx 0.13.1+ds1;compose v2.26.1-4;"}

    def run(argv: list[str], **_: object) -> Done:
        calls.append(" ".join(argv[:2]))
        if argv[1] == "version":
            return Done(0, "Engine;", "")
        if argv[0] not in plugins:
            raise FileNotFoundError(argv[0])
        return Done(0, f"{plugins[argv[0]]}\n{HERE}\n", "")

    monkeypatch.setattr(kind, "run", run)
    monkeypatch.setenv(kind.CLIENT, "")
    monkeypatch.setenv(kind.KIND, "")
    assert (kind.kind_words(), kind.client(), kind.kind_words()) == ("docker", "/usr/local/bin/docker", "docker")
    assert calls == [*(f"{one} info" for one in kind.CANDIDATES), "/usr/local/bin/docker version"]
    monkeypatch.setenv(kind.CLIENT, "")
    plugins["/usr/local/bin/docker"] = "buildx ;compose v2.26.1-4;"
    assert "no Docker with Compose >= 2.20 and buildx" in refused(Failure, kind.client).words


def image(docker: Docker, layers: list[str], base: list[str] | None) -> None:
    """Give service `a` an image with these layers, and its base's name these layers (None: there is no such image)."""
    docker.says("{{.Id}} bench/a", "sha256:1\n")
    docker.says("{{json .RootFS.Layers}} bench/a", json.dumps(layers, separators=(",", ":")) + "\n")
    if base is None:
        docker.says('image inspect --format {{json .RootFS.Layers}} "id"', status=1)
    else:
        facts = ' "id": "sha256:0", "repo_digests": ["x@sha256:2"]\n'
        docker.says('"repo_digests": {{json .RepoDigests}} base', json.dumps(base, separators=(",", ":")) + facts)


def test_what_a_service_is_made_of_is_kept_once(run: Run, docker: Docker) -> None:
    folder = run.service_folder("a")
    image(docker, ["l1", "l2", "l3"], ["l1", "l2"])
    docker.says("run --rm", "flask==1\n\fPython 3.13\n\fNAME=Debian\n\n\favailable False\n")
    docker.says("image inspect bench/a", "[{}]\n")
    save_provenance(run, "a")
    (call,) = docker.asked("run --rm")
    assert " --memory 512m --ulimit nofile=1024 " in call
    assert ' --env=PYTHON_JIT=0 --env=A=1 --env=B=2 bench/a sh -c cat /app/packages.txt && printf "\\f" && ' in call
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "packages.txt": "flask==1\n",
        "python.txt": "Python 3.13\n",
        "os-release.txt": "NAME=Debian\n\n",
        "jit.txt": "available False\n",
        "image.json": "[{}]\n",
        "base.json": '{"name": "base", "id": "sha256:0", "repo_digests": ["x@sha256:2"]}\n',
        "image.id": "sha256:1\n",
    }
    save_provenance(run, "a")
    assert len(docker.asked("run --rm")) == 1
    docker.says("{{.Id}} bench/a", "sha256:other\n")
    with pytest.raises(Failure, match="the image of a has changed since r began: start a new run"):
        save_provenance(run, "a")


@pytest.mark.parametrize("base", [None, ["l1", "other"], ["l"], []])
def test_replaced_or_missing_base_is_not_the_images(run: Run, docker: Docker, base: list[str] | None) -> None:
    image(docker, ["l1", "l2"], base)
    docker.says("image inspect bench/a", "[{}]\n")
    docker.says("run --rm", "\f\f\f")
    save_provenance(run, "a")
    missing = "the base that it was built on is not here under this name"
    assert json.loads((run.service_folder("a") / "base.json").read_text()) == {"name": "base", "missing": missing}


def test_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "folder" / "file"
    save(file, "first\n")
    monkeypatch.setattr(files.os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    assert "No space left" in str(refused(OSError, save, file, "second\n"))
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("file", "first\n")]


def test_a_file_that_is_not_there_has_no_text_and_no_last_line(tmp_path: Path) -> None:
    assert (text_of(tmp_path / "none"), last_line(tmp_path / "none")) == (None, "")
    save(tmp_path / "log", "first\nlast words\n \n")
    assert last_line(tmp_path / "log") == "last words"


def test_of_a_command_that_may_say_anything_the_end_alone_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(["sh", "-c", "yes | head -c 300000; echo its last words; exit 3"], check=False, log=log, end_alone=True)
    assert (done.status, done.last_line, log.stat().st_size) == (3, "its last words", KEPT)
