"""Reads the Compose file of a user's own app on the host, where its paths can be followed through links.

The file may be somebody else's. Docker Compose resolves it without this shell's variables, so that none of them ends
up in a run; it is one file, and whatever it reads or mounts has to be below its own folder.
`bench.own_app.compose_file` checks the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from driver.docker import docker, or_failure
from driver.failure import USER, Failure
from driver.files import below

PASSED = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH")
"""Variables that Docker Compose itself needs."""
VARIABLES = ".env"
"""The file in which Docker Compose looks for values."""
# Without an --env-file, it reads .env and takes all of it for its own environment, in which it may start git.
UNRESOLVED = ("--env-file", os.devnull, "--profile", "*", "config", "--no-interpolate")
PATIENCE_S = 60.0
"""Longer than any file takes that is not made to take long."""


def read_compose(file: Path, env_file: Path | None) -> dict[str, Any]:
    """The resolved file, with real paths; `env_file` gives values to its variables, beside its own .env.

    Failure if it is not valid, names another Compose file, or if a path leaves its folder.
    """
    folder = file.parent
    _alone(file)
    # Docker Compose puts the contents of env_file into `environment`, so only the unresolved file names it.
    for name, service in _services(_config(file, *UNRESOLVED)):
        for given in _env_files(service.get("env_file")):
            if "$" in given:
                raise Failure(USER, f"--compose: service '{name}' reads {given}: name its env_file without a variable")
            _below(folder, given, f"service '{name}' reads {given}")
    values = [path for path in (folder / VARIABLES, env_file) if path and path.exists()]
    if folder / VARIABLES in values:
        _below(folder, VARIABLES, f"it reads {VARIABLES}")
    given_values = [word for path in values or [Path(os.devnull)] for word in ("--env-file", str(path))]
    resolved = _config(file, *given_values, "config")
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
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise Failure(USER, f"--compose: {what}, which is neither a file nor a folder; remove that")
    return str(path)


def _there(folder: Path, name: str, what: str) -> str:
    """The real path, as Docker Compose writes and reads it: a `$` is doubled."""
    path = _below(folder, name.replace("$$", "$"), what)
    if not Path(path).exists():
        raise Failure(USER, f"--compose: {what}, which is not there")
    return path.replace("$", "$$")


def _alone(file: Path) -> None:
    """Failure if the file names other Compose files, which Docker Compose would read from anywhere, also by git.

    Docker Compose itself parses it here, but as the value of an extension field, whose contents it does not follow.
    """
    lines = [f" {line}\n" for line in file.read_text(encoding="utf-8-sig", errors="replace").splitlines()]
    while lines and lines[0].split("#")[0].strip() in ("", "---"):
        del lines[0]
    nested = "".join(["services: {}\nx-file:\n", *lines])
    given = _config(file, *UNRESOLVED, stdin=nested.encode()).get("x-file")
    if isinstance(given, dict) and given.get("include"):
        raise Failure(USER, "--compose: it includes other files: put their services into it")
    for name, service in _services(given if isinstance(given, dict) else {}):
        extends = service.get("extends")
        if isinstance(extends, dict) and extends.get("file"):
            raise Failure(USER, f"--compose: service '{name}' extends one of another file: put that into this one")


def _config(file: Path, *words: str, stdin: bytes | None = None) -> dict[str, Any]:
    """What Docker Compose makes of the file, or of `stdin`. `words`: its global options, and `config` with its own."""
    clean = {name: os.environ[name] for name in PASSED if name in os.environ}
    argv = ["compose", "--project-name", "own", "--project-directory", str(file.parent)]
    argv += ["--file", "-" if stdin else str(file), *words, "--format", "json"]
    with or_failure(USER, "--compose"):
        done = docker(*argv, check=False, env=clean, stdin=stdin, timeout=PATIENCE_S)
    if done.status:
        raise Failure(USER, f"--compose: {done.last_line}")
    resolved = json.loads(done.out)
    return resolved if isinstance(resolved, dict) else {}


def _services(resolved: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    services = resolved.get("services")
    for name, service in services.items() if isinstance(services, dict) else ():
        yield name, service if isinstance(service, dict) else {}


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
