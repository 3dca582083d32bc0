"""Reads the Compose file of a user's own app on the host, where its paths can be followed through links.

The file may be somebody else's. Docker Compose resolves it without this shell's variables, so that none of them ends
up in a run; it is one file, and whatever it reads or mounts has to be below its own folder.
`bench.own_app.compose_file` checks the rest.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver.docker import docker, or_failure
from driver.failure import USER, Failure, say
from driver.files import below
from driver.messages import FAULTS

PASSED = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH")
"""Variables that Docker Compose itself needs."""
VARIABLES = ".env"
"""The file in which Docker Compose looks for values."""
# Without an --env-file, it reads .env and takes all of it for its own environment, in which it may start git.
UNRESOLVED = ("--env-file", os.devnull, "--profile", "*", "config", "--no-interpolate")
PATIENCE_S = 60.0
"""Longer than any file takes that is not made to take long."""
MEMORY_MIB = 1024
"""More memory than Docker Compose needs for any file whose aliases are not made to multiply."""
NO_MEMORY = re.compile(r"^fatal error: .*(out of memory|cannot allocate memory)", re.MULTILINE)
"""What a Go program prints that reaches its limit."""


def read_compose(
    file: Path, env_file: Path | None, *, app: Path | None = None, names: Sequence[str] = ()
) -> dict[str, Any]:
    """The resolved file with the services that an app needs, and real paths; `FAULTS` has what is wrong with those.

    `names`: these services and what they depend on; without them, all but the app itself, whose folder is `app`.
    `env_file` gives values to variables, beside the file's own .env. Failure if the file is not valid, or if Docker
    Compose would read another Compose file or leave its folder.
    """
    _alone(file)
    unresolved = dict(_services(_config(file, *UNRESOLVED)))
    values = _values(file.parent, unresolved, env_file)
    given_values = [word for path in values or [Path(os.devnull)] for word in ("--env-file", str(path))]
    resolved = _config(file, *given_values, *(("--profile", "*") if names else ()), "config")
    to_name = f"--compose {file.name}:NAME,NAME takes those that you name, of {', '.join(sorted(unresolved))}"
    services, faults = _chosen(dict(_services(resolved)), names, app, to_name), list[str]()
    if unresolved and not services:
        raise Failure(USER, f"--compose: every service has a profile, or is the app: {to_name}")
    for name, service in services.items():
        _follow(file.parent, f"service '{name}'", service, faults)
    resolved["services"] = services
    for kind in ("volumes", "secrets", "configs"):
        used = {entry.get("source") for service in services.values() for entry in service.get(kind) or ()}
        resolved[kind] = {name: entry or {} for name, entry in (resolved.get(kind) or {}).items() if name in used}
        for name, entry in resolved[kind].items():
            if kind != "volumes" and entry.get("file"):
                what = f"the {kind[:-1]} '{name}' reads {entry['file']}"
                entry["file"] = _there(file.parent, entry["file"], what, faults)
    return {**resolved, FAULTS: faults}


def _values(folder: Path, unresolved: Mapping[str, Mapping[str, Any]], env_file: Path | None) -> list[Path]:
    """The files that give values to variables; Failure if Docker Compose would read one outside of the folder."""
    faults: list[str] = []
    for name, service in unresolved.items():
        # Docker Compose puts the contents of env_file into `environment`, so only the unresolved file names it.
        for given in _env_files(service.get("env_file")):
            if "$" in given:
                faults.append(f"service '{name}' reads {given}: name its env_file without a variable")
            else:
                _below(folder, given, f"service '{name}' reads {given}", faults)
    values = [path for path in (folder / VARIABLES, env_file) if path and path.exists()]
    if folder / VARIABLES in values:
        _below(folder, VARIABLES, f"it reads {VARIABLES}", faults)
    if faults:
        raise Failure(USER, f"--compose: {'; '.join(faults)}; remove that")
    return values


def _chosen(
    services: dict[str, dict[str, Any]], names: Sequence[str], app: Path | None, to_name: str
) -> dict[str, dict[str, Any]]:
    """The services by these names, and what they depend on; without names, all but the app itself."""
    if not names:
        if left_out := _of_app(services, app):
            say(f"--compose: left out: {', '.join(f'{name} ({why})' for name, why in left_out.items())}; {to_name}")
        return {name: service for name, service in services.items() if name not in left_out}
    if unknown := [name for name in names if name not in services]:
        raise Failure(USER, f"--compose: there is no service {', '.join(unknown)}: {to_name}")
    needed = [*names]
    for name in needed:
        needed += [other for other in _needs(services[name]) if other in services and other not in needed]
    return {name: service for name, service in services.items() if name in needed}


def _of_app(services: Mapping[str, Mapping[str, Any]], app: Path | None) -> dict[str, str]:
    """The services that are the app itself, by its folder or image, or depend on it; and why."""
    left_out: dict[str, str] = {}
    for name, service in services.items():
        context = (service.get("build") or {}).get("context")
        mounted = (one.get("source") for one in service.get("volumes") or () if one.get("type") == "bind")
        for what, places in (("is built from", [context]), ("mounts", mounted)):
            folders = (os.path.realpath(place.replace("$$", "$")) for place in places if place)
            if app and any(map(app.is_relative_to, folders)):
                left_out.setdefault(name, f"{what} the app's folder")
    images = {services[name].get("image"): name for name in left_out if services[name].get("build")}
    for name, service in services.items():
        if service.get("image") and service["image"] in images:
            left_out.setdefault(name, f"has the image of {images[service['image']]}")
    new = [*left_out]
    for on in new:
        dependent = [name for name in services if name not in left_out and on in _needs(services[name])]
        left_out.update(dict.fromkeys(dependent, f"depends on {on}"))
        new += dependent
    return left_out


def _needs(service: Mapping[str, Any]) -> list[str]:
    """The services that it depends on."""
    return [name for name, rule in (service.get("depends_on") or {}).items() if (rule or {}).get("required", True)]


def _below(folder: Path, name: str, what: str, faults: list[str]) -> str:
    """The file's real path; if it is not below `folder`, or a socket, a fault that begins with `what`."""
    if (path := below(folder, name)) is None:
        faults.append(f"{what}, which is outside of the file's own folder")
    elif path.exists() and not (path.is_file() or path.is_dir()):
        faults.append(f"{what}, which is neither a file nor a folder")
    return str(path)


def _there(folder: Path, name: str, what: str, faults: list[str]) -> str:
    """The real path, as Docker Compose writes and reads it: a `$` is doubled."""
    count = len(faults)
    path = _below(folder, name.replace("$$", "$"), what, faults)
    if len(faults) == count and not Path(path).exists():
        faults.append(f"{what}, which is not there")
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
    services = _services(given if isinstance(given, dict) else {})
    extends = ((name, service.get("extends")) for name, service in services)
    if names := [f"'{name}'" for name, other in extends if isinstance(other, dict) and other.get("file")]:
        words = f"service {', '.join(names)} extends one of another file: put that into this one"
        raise Failure(USER, f"--compose: {words}")


def _config(file: Path, *words: str, stdin: bytes | None = None) -> dict[str, Any]:
    """What Docker Compose makes of the file, or of `stdin`. `words`: its global options, and `config` with its own."""
    clean = {name: os.environ[name] for name in PASSED if name in os.environ}
    argv = ["compose", "--project-name", "own", "--project-directory", str(file.parent)]
    argv += ["--file", "-" if stdin else str(file), *words, "--format", "json"]
    with or_failure(USER, "--compose"):
        done = docker(*argv, check=False, env=clean, stdin=stdin, timeout=PATIENCE_S, most_mib=MEMORY_MIB)
    if done.status and NO_MEMORY.search(done.err):
        what = f"Docker Compose needs more than {MEMORY_MIB} MiB to read it"
        raise Failure(USER, f"--compose: {what}: write its aliases (*name) out, or leave out what they repeat")
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


def _follow(folder: Path, who: str, service: dict[str, Any], faults: list[str]) -> None:
    for volume in service.get("volumes") or ():
        if volume.get("type") != "bind":
            continue
        given = str(volume.get("source") or "")
        path = below(folder, given.replace("$$", "$"))
        if path and not path.exists():
            # Docker Compose would make a folder, for the service to fill.
            say(f"--compose: {who} mounts {given}, which is not there: it gets an empty volume")
            volume["type"] = "volume"
            for key in ("source", "bind"):
                volume.pop(key, None)
        else:
            volume["source"] = _there(folder, given, f"{who} mounts {given}", faults)
    build = service.get("build") or {}
    if build.get("context"):
        build["context"] = _there(folder, build["context"], f"{who} is built from {build['context']}", faults)
        if name := build.get("dockerfile"):
            build["dockerfile"] = _there(folder, str(Path(build["context"], name)), f"{who} is built by {name}", faults)
