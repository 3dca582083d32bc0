"""An own app whose source does not show its interface is imported in an image of its own, once it is locked."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from captured import Capture
from docker_calls import Docker
from places import ROOT
from tables import cases

from driver import docker as module
from driver.docker import Done
from driver.failure import Failure
from driver.planning import tools
from driver.planning.own_app import prepare_own_app

MARK = re.compile(r" ([0-9a-f]{16})$")


class Project:
    """A project with an app that has an environment file; `says` is printed by the import, with MARK for its mark."""

    def __init__(self, root: Path, docker: Docker) -> None:
        self.root, self.docker = root, docker
        self.says, self.status = "MARK wsgi main.app\n", 0
        self.composed: list[dict[str, Any]] = []
        (root / "results").mkdir()
        (root / "services/own").mkdir(parents=True)
        (root / ".env").write_text("NOFILE=1024\nPYTHON_IMAGE=python\nMEMORY=300m\n")
        (root / "own.env").write_text("TOKEN=secret\n")
        shutil.copy(ROOT / "services/own/interface.py", root / "services/own")
        docker.does("-m bench own-app", self.describe)
        docker.does("/app/fill-folder python3", self.imports)

    @property
    def out(self) -> Path:
        (folder,) = (self.root / "results").glob(".app-*")
        return folder

    def describe(self, call: str) -> Done:
        (self.out / "requirements").mkdir(exist_ok=True)
        app = {"app": "main:app", "env_file": str(self.root / "own.env"), "variables": ["TOKEN"]}
        given = call.partition("--imported ")[2]
        (self.out / "app.json").write_text(json.dumps({**app, "interface": given.partition(" ")[0]}))
        return Done(0, "py314 3.14\npy313 3.13\n", "")

    def imports(self, call: str) -> Done:
        self.composed.append(json.loads((self.out / "compose.yml").read_text()))
        (mark,) = MARK.findall(call)
        return Done(self.status, self.says.replace("MARK", mark), "")

    def prepare(self) -> None:
        own = {"folder": str(self.root), "app": "main:app", "env-file": str(self.root / "own.env")}
        with ExitStack() as files:
            prepare_own_app(self.root, own, ["--python", "3.14,3.13"], "", files)


@pytest.fixture
def project(tmp_path: Path, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(tools, "missing_bases", lambda *_: set())
    return Project(tmp_path, docker)


def test_built_once_and_described_again(project: Project, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "of the shell")
    project.prepare()
    resolved, other, built = docker.asked("buildx build")
    assert "PYTHON=3.14 " in resolved and "PYTHON=3.13 " in other
    assert "--target own-app" in built and "PYTHON=3.14 " in built and "--build-arg APP_BASE=bare" in built
    assert re.search(rf"app-locks=\S+/locks/py314 --build-context app-source={project.root} ", built)
    first, second = (re.sub(r"bench-planning-\S+", "", call) for call in docker.asked("-m bench own-app"))
    assert second == f"{first} --imported wsgi main.app"
    (removed,) = docker.asked("image rm")
    assert f" --tag {removed.split()[-1]} " in built
    (imported,) = docker.asked(" run --detach --rm --no-deps")
    assert f"--env-file {project.root}/own.env" in imported and "secret" not in imported
    # Compose prefers what its own environment has.
    assert "TOKEN" not in (docker.envs[docker.calls.index(imported)] or {})


def test_it_is_confined_and_gets_the_variables_by_name_and_no_network(project: Project) -> None:
    project.prepare()
    (service,) = project.composed[0]["services"].values()
    assert service["extends"] == {"file": f"{project.root}/services/template.yml", "service": "imported"}
    assert service["environment"] == {"APP": "main:app", "TOKEN": None}
    template = (ROOT / "services/template.yml").read_text()
    (confined, _) = re.split(r"\n  hardened:\n", template)
    folder = r'tmpfs: .*"/srv/app:exec,mode=1777,size=256m"\]'
    limits = rf"network_mode: none\n    {folder}\n    mem_limit: \$\{{MEMORY:-512m\}}"
    assert re.search(rf"\n  imported:\n    <<: \*confined\n    {limits}\n", template)
    for words in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "pids_limit", "nofile", "max-size"):
        assert words in confined
    assert "network" not in confined.partition("confined:")[2]
    (imported,) = project.docker.asked(" run --detach --rm --no-deps")
    assert (project.docker.envs[project.docker.calls.index(imported)] or {})["MEMORY"] == "300m"


HANDED_ON = {
    "asgi x.App": "warning\nMARK asgi x.App\n",
    "wsgi y": "MARK asgi x\nMARK wsgi y\nlate\n",
    "none builtins.dict": "MARK none builtins.dict\n",
}


@pytest.mark.parametrize("words", HANDED_ON)
def test_what_the_program_says_is_handed_on(project: Project, words: str) -> None:
    project.says = HANDED_ON[words]
    project.prepare()
    assert project.docker.asked("-m bench own-app")[1].endswith(f" --imported {words}")


TRACE = "Traceback\n  File x\n"


PRINTED = {
    1: ["", "MARK wsgi y\n"],
    # It has no name, one without end, or a mark of its own.
    0: ["MARK wsgi\n", f"MARK wsgi {'x' * 201}\n", "0123456789abcdef wsgi y\n"],
}


@pytest.mark.parametrize(("printed", "status"), cases(PRINTED))
def test_an_app_that_does_not_import_is_refused(project: Project, printed: str, status: int) -> None:
    project.says, project.status = printed, status
    last = "KeyError: 'X' (main.py, line 1)"
    assert refused(project, f"{last}\n") == f"main:app does not import on Python 3.14: {last}"
    hint = "mend that, or give --interface if it imports only where its services are (see --help)"
    (asked,) = project.docker.asked("own-trace")
    assert asked.endswith(f"/import.txt {hint}")
    assert project.docker.asked("image rm") and not list((project.root / "results").iterdir())


def refused(project: Project, trace: str) -> str:
    project.docker.says("own-trace", trace)
    with pytest.raises(Failure) as failure:
        project.prepare()
    return failure.value.words


def test_its_own_traceback_is_printed(project: Project, capfd: Capture) -> None:
    project.says, project.status = "", 1
    assert refused(project, f"{TRACE}SyntaxError: no: mend it\n").endswith("3.14: SyntaxError: no: mend it")
    assert TRACE in capfd.readouterr().err


def test_what_dockerignore_may_leave_out_is_said(project: Project) -> None:
    (project.root / ".dockerignore").touch()
    (project.root / "config.py").touch()
    project.says, project.status = "ModuleNotFoundError: No module named 'config'\n", 1
    words = refused(project, "ModuleNotFoundError: No module named 'config': give\n")
    assert words.endswith(": give: config is in the app's folder: its .dockerignore may leave it out of the images")


def test_an_import_that_takes_too_long_ends(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    fake = module.run

    def run(argv: list[str], **options: Any) -> Done:
        if "exec" in argv:
            asked.update(options)
            raise module.DockerError("too long")
        return fake(argv, **options)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setenv("IMPORT_TIMEOUT", "7")
    with pytest.raises(Failure, match=r"main:app does not import on Python 3\.14: not done after 7 s \(IMPORT_TIMEOUT"):
        project.prepare()
    assert (asked["timeout"], asked["end_alone"]) == (7.0, True)
    assert project.docker.asked("rm --force --volumes") and project.docker.asked("image rm")
