"""Calls Docker Compose, and runs commands such as `python3 -m bench` in the tools' container."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from driver.docker import CONFINED, Done, docker, engine_environment, results_user
from driver.failure import USER, Failure
from driver.files import save, text_of
from driver.origin import note
from driver.run import Run

FRESH = ("up", "--detach", "--no-deps", "--no-build", "--force-recreate", "--timeout", "0")
"""Words of Compose that start new containers."""
TOOLS = "bench/loadgen"
FILE = "compose.yml"
"""The run's resolved Compose file, in the folder of the run or lane."""


def run_compose(run: Run, *words: str, context: str = "", files: Sequence[Path] = (), **options: Any) -> Done:
    """Runs Compose on the run's resolved file and `files` only. `options` are those of `docker`."""
    env_file = run.own_app.env_file if run.own_app else ""
    more = ["--env-file", env_file] if env_file else []
    argv = ["compose", "--project-name", run.project, *_files([run.lane_folder / FILE, *files]), *more, *words]
    return docker(*argv, context=context, env=environment(run), **options)


def project_compose(where: Run | Path, *words: str, **options: Any) -> Done:
    """Runs Compose on the project's own files. `where`: a run, whose settings then apply, or the project's folder."""
    root, env = (where.root, environment(where)) if isinstance(where, Run) else (where, dict(os.environ))
    argv = ["compose", "--project-directory", str(root), *_files([root / "docker-compose.yml"])]
    for file in (root / ".env", root / "services" / ".env"):
        argv += ["--env-file", str(file)] if file.is_file() else []
    return docker(*argv, *words, env={**options.pop("env", env), "COMPOSE_SERVICES": "bench"}, **options)


def resolved(run: Run, form: str = "yaml") -> str:
    """Everything that the run starts or builds, resolved by Compose with the run's settings, as yaml or json."""
    files = [run.folder / "services.yml"]
    own = run.folder / "app" / "services.json"
    if (text_of(own) or "").strip():
        files.append(own)
    built = [service.build for service in run.services.values() if service.build]
    # With targets, the load generator is on the host's network, and must reach the other services from there.
    env = {**environment(run), "WITHOUT_HOST": "false" if run.targets else "true", "RUN_FOLDER": str(run.folder)}
    env["UPSTREAM_TOKEN"] = token_hex(16)
    words = ["--project-name", run.project, *_files(files), "--profile", "*", "config", "--format", form]
    return project_compose(run, *words, *run.dependencies, "null", *run.containers, *built, env=env).out


def need_compose(run: Run) -> None:
    """Writes the file that `run_compose` reads, unless it exists; for a run on this machine."""
    if not text_of(run.folder / FILE):
        save_compose(run, resolved(run))


def save_compose(run: Run, text: str) -> None:
    """Saves the run's resolved file, and notes that it was written here: it says what a resumed run starts."""
    note(run.root, text)
    save(run.folder / FILE, text)


def environment(run: Run) -> dict[str, str]:
    """The run's settings, without the variables of the user's environment file: Compose must take those from there."""
    own = run.own_app.variables if run.own_app else ()
    return {name: value for name, value in {**run.settings, **engine_environment()}.items() if name not in own}


def in_tools(where: Run | Path, *words: str, docker_options: Sequence[str] = (), **options: Any) -> Done:
    """Runs a command in a container of the tools' image, without network, as the user who runs the driver.

    The project is mounted read-only at /bench, results/ writable. A label names the run. `options` are those of
    `docker`.
    """
    return docker(*tools_words(where, *words, docker_options=docker_options), **options)


def tools_words(
    where: Run | Path, *words: str, image: str = TOOLS, docker_options: Sequence[str] = ()
) -> tuple[str, ...]:
    """The words for `docker` that `in_tools` uses."""
    root, project = (where.root, where.project) if isinstance(where, Run) else (where, "")
    nofile = (where.setting("NOFILE") if isinstance(where, Run) else "") or setting(root, "NOFILE")
    # The planner checks all other settings, but cannot start without this one.
    if not re.fullmatch(r"[1-9][0-9]*", nofile):
        raise Failure(USER, f"NOFILE='{nofile}' is not a number above 0; fix it in .env or the environment")
    argv = ["run", "--rm", "--interactive", "--label", f"bench.run={project}", "--network", "none"]
    argv += ["--ulimit", f"nofile={nofile}", "--user", results_user(), "--workdir", "/bench", *CONFINED]
    # The most memory that reading a run may take, whatever files it has.
    argv += ["--memory", "4g", "--tmpfs", "/tmp:exec"]
    argv += ["--volume", f"{root}:/bench:ro", "--volume", f"{root}/results:/bench/results"]
    # Its configuration may have a token.
    argv += ["--tmpfs", "/bench/.git:ro"] if (root / ".git").is_dir() else []
    return (*argv, *docker_options, image, *words)


def setting(root: Path, name: str) -> str:
    """A setting's value from the environment, else from the project's .env."""
    lines = (text_of(root / ".env") or "").splitlines()
    there = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]
    return os.environ.get(name) or (there[-1] if there else "")


def _files(paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in ("--file", str(path))]
