"""Calls `python3 -m bench` to plan a run, with facts that it cannot find out in its container; and calls git."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from driver.compose import in_tools, setting, tools_words
from driver.docker import LONGEST_S, Done, client, docker, engine_environment, kind_words, run
from driver.failure import EQUAL, INTERRUPTED, RUN, USER, Failure, Interrupted
from driver.files import text_of
from driver.lifecycle import hold
from driver.run import ROOT
from driver.services.build import missing_bases
from driver.services.harness import IMAGES

GIT_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_number = count(1)


def bench(root: Path, verb: str, *words: str, stdin: bytes | None = None, docker_options: Sequence[str] = ()) -> str:
    """The output of a verb of `python3 -m bench`. Passes its messages on; if it fails, so does this process."""
    name = f"bench-planning-{os.getpid()}-{next(_number)}"
    argv = ("python3", "-m", "bench", verb, *words)
    try:
        done = in_tools(root, *argv, docker_options=("--name", name, *docker_options), stdin=stdin, check=False)
    except Interrupted:
        docker("rm", "--force", name, check=False)
        raise
    sys.stderr.write(done.err)
    sys.stderr.flush()
    if done.status in (USER, EQUAL, INTERRUPTED):
        raise SystemExit(done.status)
    if done.status:
        raise Failure(RUN, f"'python3 -m bench {verb}' ended with status {done.status}")
    return done.out


def plan(root: Path, verb: str, *words: str, bases: str = "") -> str:
    """Runs a planning verb with the host's images, engine and exported settings.

    `bases`: `NAME=LAYER,LAYER...` for each base image, if a run is repeated.
    """
    known = docker("image", "inspect", "--format", "{{index .RepoTags 0}}={{.Id}}", *IMAGES).out.split()
    facts = {
        "VERSION": asked(root, "describe", "--always", "--dirty", "--tags") or "unknown",
        "ENGINE": described_engine(),
        "CONTAINERS": "fresh for every measurement",
        "COMMIT": asked(root, "rev-parse", "HEAD"),
        "BRANCH": asked(root, "symbolic-ref", "--quiet", "--short", "HEAD"),
        "IMAGES": " ".join(known),
        "BASES": bases,
    }
    options = [f"--env={name}" for name in re.findall(r"^([A-Z_]+)=", text_of(root / ".env") or "", re.MULTILINE)]
    options += [f"--env=BENCH_{name}={value}" for name, value in facts.items()]
    images = docker("image", "ls", "--filter", "dangling=false", "--format", "{{.Repository}}:{{.Tag}}").out
    return bench(root, verb, "--images=/dev/stdin", *words, stdin=images.encode(), docker_options=options)


def plan_contract(argv: list[str]) -> int:
    """`contract SERVICE... -- COMMAND...`: plans a run that only checks services, and holds it for `COMMAND RUN`."""
    place = argv.index("--")
    run = plan(ROOT, "contract", *argv[:place]).strip()
    os.chdir(ROOT)
    return hold.main([run, *argv[place:], run])


def exec_tools(argv: list[str]) -> int:
    """`tools DOCKER_OPTION... -- IMAGE COMMAND...`: replaces this process by the command in a container."""
    place = argv.index("--")
    words = tools_words(ROOT, *argv[place + 2 :], image=argv[place + 1], docker_options=argv[:place])
    os.execvp(client(), [client(), *words])


def described_engine() -> str:
    """The engine's version, and how it differs from Docker on this machine, if it does."""
    version = docker("version", "--format", "{{.Server.Version}}").out.strip()
    lacks = kind_words()
    return version if lacks in ("", "docker") else f"{version} ({lacks})"


def build(what: str, *words: str, log: Path, status: int = USER) -> None:
    """Builds with BuildKit; Failure with `what` and the message of the program that failed in the build."""
    environment = {**os.environ, **engine_environment()}
    argv = ("buildx", "build", *words, "--progress", "plain")
    done = docker(*argv, check=False, timeout=LONGEST_S, log=log, env=environment)
    if done.status:
        raise Failure(status, f"{what}: {words_of_build(done.out) or done.last_line}")


def words_of_build(text: str) -> str:
    """The output of a program that failed in a build, as one line without BuildKit's own lines."""
    lines = re.findall(r"^#[0-9]+ [0-9.]+ +(.*)", text, re.MULTILINE)
    kept = [line for line in lines if not re.match(r"ERROR|process|/bin|[0-9]+ \|", line)]
    return " ".join(" ".join(kept).split())[-600:]


def python_base(root: Path, python: str) -> list[str]:
    """Build arguments for the base image of a Python, after pulling or building it; Failure if that is impossible."""
    name = "PYPY" if python.startswith("pypy") else "PYTHON"
    made = re.search(rf"^LOCAL_{name}_IMAGE=(.*)", text_of(root / "services" / ".env") or "", re.MULTILINE)
    prefix, version = made[1] if made else setting(root, f"{name}_IMAGE"), python.removeprefix("pypy")
    if missing_bases(root, [f"{prefix}:{version}-slim"]):
        raise Failure(USER, f"Python {python} has no base image here: leave it out of --python")
    return ["--build-arg", f"PYTHON_IMAGE={prefix}", "--build-arg", f"PYTHON={version}"]


def git(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Done:
    """Runs git in a folder, without hooks."""
    return run(["git", "-C", str(folder), *GIT_OPTIONS, *words], check=False, env=env)


def asked(folder: Path, *words: str) -> str:
    """The output of git; empty if it fails."""
    done = git(folder, *words)
    return "" if done.status else done.out.strip()


def done_by_git(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """The output of git; Failure if it fails."""
    done = git(folder, *words, env=env)
    if done.status:
        raise Failure(RUN, f"git {words[0]}: {done.last_line}")
    return done.out.strip()


def commit_of(folder: Path, ref: str) -> str:
    """The commit that a ref names; empty if there is none."""
    return asked(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
