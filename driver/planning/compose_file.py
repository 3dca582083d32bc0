"""Reads the Compose file of a user's own app on the host, where its paths can be followed through links.

The file may be somebody else's. Docker Compose resolves it without this shell's variables, so that none of them ends
up in a run; whatever it reads or mounts has to be below the file's own folder. `bench.own_app.compose_file` checks the
rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from driver.docker import docker
from driver.failure import USER, Failure
from driver.files import below

PASSED = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH")
"""Variables that Docker Compose itself needs."""
VARIABLES = ".env"
"""The file in which Docker Compose looks for values."""


def read_compose(file: Path, env_file: Path | None) -> dict[str, Any]:
    """The resolved file, with real paths; `env_file` gives values to its variables, beside its own .env.

    Failure if it is not valid, or if a path leaves its folder.
    """
    folder = file.parent
    # Docker Compose puts the contents of env_file into `environment`, so only the unresolved file names it.
    for name, service in _services(_config(file, "--no-interpolate")):
        for given in _env_files(service.get("env_file")):
            if "$" in given:
                raise Failure(USER, f"--compose: service '{name}' reads {given}: name its env_file without a variable")
            _below(folder, given, f"service '{name}' reads {given}")
    values = [path for path in (folder / VARIABLES, env_file) if path and path.exists()]
    if folder / VARIABLES in values:
        _below(folder, VARIABLES, f"it reads {VARIABLES}")
    resolved = _config(file, values=values)
    for name, service in _services(resolved):
        _follow(folder, f"service '{name}'", service)
    for kind in ("secrets", "configs"):
        for name, entry in (resolved.get(kind) or {}).items():
            if (entry or {}).get("file"):
                entry["file"] = _there(folder, entry["file"], f"the {kind[:-1]} '{name}' reads {entry['file']}")
    return resolved


def _below(folder: Path, name: str, what: str) -> str:
    """The file's real path; Failure that begins with `what` if it is not below `folder`, or a socket."""
    path = below(folder, name)
    if path is None:
        raise Failure(USER, f"--compose: {what}, which is outside of the file's own folder; remove that")
    if path.is_socket():
        raise Failure(USER, f"--compose: {what}, which is a socket; remove that")
    return str(path)


def _there(folder: Path, name: str, what: str) -> str:
    path = _below(folder, name, what)
    if not Path(path).exists():
        raise Failure(USER, f"--compose: {what}, which is not there")
    return path


def _config(file: Path, *options: str, values: list[Path] | None = None) -> dict[str, Any]:
    words = ["compose", "--project-directory", str(file.parent), "--file", str(file)]
    for path in values or ():
        words += ["--env-file", str(path)]
    clean = {name: os.environ[name] for name in PASSED if name in os.environ}
    done = docker(*words, "config", "--format", "json", *options, check=False, env=clean)
    if done.status:
        raise Failure(USER, f"--compose: {done.last_line}")
    resolved = json.loads(done.out)
    return resolved if isinstance(resolved, dict) else {}


def _services(resolved: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, service in (resolved.get("services") or {}).items():
        yield name, service or {}


def _env_files(given: Any) -> Iterator[str]:
    for entry in given if isinstance(given, list) else [given]:
        if path := entry.get("path") if isinstance(entry, dict) else entry:
            yield str(path)


def _follow(folder: Path, who: str, service: dict[str, Any]) -> None:
    for volume in service.get("volumes") or ():
        if volume.get("type") == "bind":
            volume["source"] = _there(folder, volume.get("source") or "", f"{who} mounts {volume.get('source')}")
    build = service.get("build") or {}
    if build.get("context"):
        build["context"] = _there(folder, build["context"], f"{who} is built from {build['context']}")
        if name := build.get("dockerfile"):
            build["dockerfile"] = _there(folder, str(Path(build["context"], name)), f"{who} is built by {name}")
