"""The images that every run needs, and messages about engines other than Docker on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from captured import Capture, Patch, refused
from docker_calls import Docker

from driver.failure import Failure
from driver.planning.tools import described_engine
from driver.run import ROOT
from driver.services import harness
from driver.services.harness import NOT_BUILT, main, source_of

LACKS = {
    "docker": [],
    "podman": ["podman: containers can reach this host's ports"],
    "rootless no-cpuset no-memory": ["this engine cannot pin", "this engine cannot limit"],
    "elsewhere": ["the engine is in another machine"],
}


@pytest.mark.parametrize("kind", LACKS)
def test_what_an_engine_lacks_is_said(docker: Docker, monkeypatch: Patch, capsys: Capture, kind: str) -> None:
    monkeypatch.setenv("BENCH_ENGINE_KIND", kind)
    monkeypatch.delenv("BENCH_QUIET", raising=False)
    docker.says("version", "5.4.2\n")
    assert main(["lacks"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith(words) for line, words in zip(lines, LACKS[kind], strict=True))
    assert described_engine() == ("5.4.2" if kind == "docker" else f"5.4.2 ({kind})")


def test_root_with_anothers_rootless_engine(docker: Docker, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("BENCH_ENGINE_KIND", "rootless")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "run it as the engine's user" in refused(Failure, main, ["engine"]).words
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["engine"]) == 0 and capsys.readouterr().out == "docker\nrootless\n"


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(harness, "COMPILED", tmp_path / "compiled.txt")
    monkeypatch.setattr(harness, "LOCAL_BASES", tmp_path / "local.env")
    return tmp_path / "compiled.txt"


def test_bytecode_is_made_once_for_the_same_files_and_image(docker: Docker, compiled: Path) -> None:
    docker.says("image inspect", f"{source_of(ROOT)}\n" * 3)
    docker.says("run", "", status=1)
    main(["build"])
    docker.says("run", "")
    assert main(["build"]) == main(["build"]) == 0
    failed, made = docker.asked("run")
    assert failed == made
    assert made.endswith("python3 -m compileall -q bench") and f"{ROOT}/bench:/bench/bench" in made
    compiled.write_text(compiled.read_text().replace("bench/__main__.py", "bench/gone.py"))
    main(["build"])
    assert len(docker.asked("run")) == 3


def test_is_set_up(docker: Docker, compiled: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    docker.says("image inspect", f"{source_of(ROOT)}\n" * 3)
    assert not harness.is_set_up() and main(["check"]) == 0
    assert main(["build"]) == 0 and harness.is_set_up()
    harness.LOCAL_BASES.write_text("# a note\nLOCAL_PYTHON_IMAGE=bench-python\n")
    assert not harness.is_set_up()
    harness.LOCAL_BASES.write_text("MISSING_BASES=python:3.12-alpine\n")
    assert harness.is_set_up()
    compiled.write_text("of other files")
    assert not harness.is_set_up()
    docker.says("image inspect", "another\n" * 3)
    assert not harness.is_set_up() and main(["check"]) == NOT_BUILT
    assert capsys.readouterr().out == "docker\ndocker\n" * 2
    monkeypatch.setenv("BENCH_ENGINE_KIND", "")
    docker.says("version", status=1)
    assert "the Docker daemon does not answer" in refused(Failure, harness.is_set_up).words


def test_images_of_another_source_are_built_again(docker: Docker, capsys: Capture) -> None:
    docker.says("image inspect", f"{source_of(ROOT)}\n" * 3)
    assert main(["check"]) == main(["build"]) == 0 and not docker.asked("build")
    docker.says("image inspect", "another\n" * 3)
    assert main(["check"]) == NOT_BUILT
    assert main(["build"]) == 0
    (call,) = docker.asked("build --progress plain loadgen postgres upstream")
    assert (docker.envs[docker.calls.index(call)] or {})["BENCH_SOURCE"] == source_of(ROOT)
    docker.says("build --progress", "no such package\n", status=1)
    with pytest.raises(Failure, match=r"the harness cannot be built; the end of .* is above"):
        main(["build"])
    assert capsys.readouterr().err.splitlines()[-1] == "no such package"
