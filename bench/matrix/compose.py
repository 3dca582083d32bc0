"""The Compose files made from the matrix: services/compose.yml, services/bench.yml, a run's services.yml."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bench.core.service_settings import NO_SETTINGS
from bench.matrix.flags import FLAGS, flag_words
from bench.matrix.knobs import LIMITS, REF, THREADS
from bench.matrix.model import Matrix, Service, python_image, python_label, suffix
from bench.matrix.settings import allowed
from bench.matrix.start_command import START
from driver.messages import CHANGES

HEADER = "# Generated from the matrix (services/matrix.toml) by scripts/generate.sh: do not edit.\n"
WORKER = ("$WORKER_CLASS", "${WORKER_CLASS:-sync}", "sync")
PORT, KNOBS = "8080", {"WORKERS": "1", "BACKLOG": "2048"}
"""What every server gets, with its default, as in services/template.yml."""
# As in services/template.yml and services/common.yml, for CPU sets that .env leaves empty.
CPU_DEFAULTS = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1", "DATABASE_CPUS": "1"}


def compose_file(matrix: Matrix) -> str:
    """services/compose.yml: every service that is not skipped, in the profile `matrix`, plus those of `bench_file`."""
    quick = {service.name for _, service, chosen in _quick_services(matrix) if not chosen}
    others = (s for s in matrix.services if not s.skip and s.name not in quick)
    services = {s.name: _service(s.name, s, matrix) | {"profiles": ["matrix"]} for s in others}
    return f"{HEADER}{_written(services | _bench_services(matrix))}"


def bench_file(matrix: Matrix) -> str:
    """services/bench.yml: only `bench` and the quick preset's services, because Compose needs seconds for the rest."""
    return f"{HEADER}{_written(_bench_services(matrix))}"


def run_services(matrix: Matrix, services: Iterable[Service], *, locks: str = "") -> str:
    """A run's services.yml, without the services that `bench_file` defines.

    `locks`: the folder with the locks of a user's own app; each Python has a subfolder.
    """
    quick = {service.name for _, service, chosen in _quick_services(matrix) if not chosen}
    chosen = list(services)
    plain = {s.built_as: replace(s, name=s.built_as, settings=NO_SETTINGS, plain=None) for s in chosen}
    others = [(name, service) for name, service in plain.items() if name not in quick]
    composed = {name: _service(name, s, matrix, folder="services/", locks=locks) for name, s in others}
    composed |= {s.name: _varied(s) for s in chosen if s.settings}
    volumes = f"volumes: {{{CHANGES}: {{}}}}\n" if any(s.framework.own for s in chosen) else ""
    return _written(composed) + volumes


def _written(services: Mapping[str, Mapping[str, Any]]) -> str:
    """Services as YAML, with a line for each key: JSON is YAML."""
    lines = ["services:" if services else "services: {}"]
    for name, keys in services.items():
        lines += [f"  {name}:", *(f"    {key}: {json.dumps(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


def _bench_services(matrix: Matrix) -> dict[str, dict[str, Any]]:
    quick = {name: _service(name, service, matrix, chosen=chosen) for name, service, chosen in _quick_services(matrix)}
    bench = {
        "extends": {"file": "common.yml", "service": "loadgen"},
        "command": ["/bench/loadgen/bench"],
        # Starts as root only to switch to the owner of results/.
        "user": "0:0",
        "cap_add": ["SETUID", "SETGID"],
        "environment": {name: f"${{{name}:-{CPU_DEFAULTS.get(name, '')}}}" for name in allowed("settings")},
        "depends_on": {name: {"condition": "service_started"} for name in ("postgres", "upstream", "null", *quick)},
    }
    return {**quick, "bench": bench}


def _quick_services(matrix: Matrix) -> Iterable[tuple[str, Service, bool]]:
    """(Compose name, service, whether WORKER_CLASS chooses its server) of each stack of the quick preset."""
    services = {s.name: s for s in matrix.services}
    tail = suffix(matrix.default_python, matrix.default_base)
    variable, _, default = WORKER
    for stack in matrix.presets["quick"].stacks:
        service = services[f"{stack.replace(variable, default)}-{tail}"]
        yield f"{stack.replace(variable, 'worker')}-{tail}", service, variable in stack


def _image_reference(image: str, setting: str) -> str:
    """A base image's name as a Compose variable; `setting` overrides it for one base, or is empty."""
    prefix = f"${{LOCAL_{image.upper()}_IMAGE:-${{{image.upper()}_IMAGE:-{image}}}}}"
    return f"${{{setting}:-{prefix}}}" if setting else prefix


def _service(
    name: str, service: Service, matrix: Matrix, *, chosen: bool = False, folder: str = "", locks: str = ""
) -> dict[str, Any]:
    """A service that is built. `chosen`: WORKER_CLASS chooses its server and image."""
    server, alias = service.server.name, name
    if chosen:
        _, value, default = WORKER
        server, alias = server.replace(default, value), service.name.replace(default, value)
    packages = service.server.packages.get(service.base)
    base = matrix.bases[service.base]
    python, version = python_image(service.python)
    args = {
        "PYTHON_IMAGE": _image_reference(python, base.image),
        "PYTHON": version,
        "LOCKS": python_label(service.python),
        "STYLE": service.server.style,
        "FRAMEWORK": service.framework.folder,
        "SERVER": server,
    }
    if packages:
        args |= {"BUILD_PACKAGES": " ".join(packages.build), "RUN_PACKAGES": " ".join(packages.run)}
    if service.wheel:
        args |= {"CHANGED": str(service.package), "PYTHON_RELEASED": matrix.pythons[service.python].released}
    elif service.package:
        args["PACKAGE"] = service.package
    build = {"context": service.context or folder or ".", "dockerfile": base.dockerfile, "args": args}
    if app := service.framework.own:
        # What it does not ask for would hide what it forgets, and contradict what it pins.
        args |= {"SERVER_BASE": "bare"} | ({"APT": app.apt} if app.apt else {})
        lock = f"{locks}{app.lock_suffix}/{python_label(service.python)}"
        contexts = {"app-source": app.source.replace("$", "$$"), "app-locks": lock}
        build |= {"target": "own-app", "additional_contexts": contexts}
    elif service.wheel:
        build |= {"target": "with-package", "additional_contexts": {"package-wheels": service.wheel}}
    keys = {
        **_extended(service, folder),
        "image": service.image if app else f"bench/{alias}",
        "build": build,
        "environment": _environment(service),
        "networks": {"bench": {"aliases": [alias]}} if chosen else {},
    }
    return {key: value for key, value in keys.items() if value}


def _extended(service: Service, folder: str) -> dict[str, Any]:
    return {"extends": {"file": f"{folder}template.yml", "service": "own-app" if service.framework.own else "app"}}


def _environment(service: Service) -> dict[str, str | None]:
    """Its environment variables besides those of every service, without its varied settings."""
    return dict(service.framework.environment) | ({THREADS: service.threads} if service.threads else {})


def environment_of(service: Service, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables that its server may read: those of every server, its own and the varied ones."""
    common = {"PORT": PORT, **{name: settings.get(name) or default for name, default in KNOBS.items()}}
    own = _environment(service) | _settings(service)
    return common | {name: value for name, value in own.items() if value is not None}


def _settings(service: Service) -> dict[str, str]:
    """Its varied settings that are environment variables."""
    return {name: value for name, value in service.settings.items() if name not in {*LIMITS, REF, FLAGS}}


def _varied(service: Service) -> dict[str, Any]:
    """A service with varied settings, which uses the image of the service without them."""
    limits = {key: value for name, value in service.settings.items() if (key := LIMITS.get(name))}
    # Compose would replace variables in it.
    flags = [word.replace("$", "$$") for word in flag_words(service.settings)]
    environment = _environment(service) | _settings(service)
    return {
        **_extended(service, "services/"),
        "image": service.image,
        "pull_policy": "never",
        **({"environment": environment} if environment else {}),
        **({"command": [START, *flags]} if flags else {}),
        **limits,
    }
