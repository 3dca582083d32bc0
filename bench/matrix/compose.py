"""services/compose.yml, services/bench.yml and services/bases.tsv from the matrix: pure text, one function each."""

from __future__ import annotations

import json
from collections.abc import Iterable

from bench.matrix.model import Matrix, Service, python_image, python_label, suffix
from bench.matrix.settings import SETTINGS

HEADER = "# Generated from services/matrix.toml by scripts/generate.sh: do not edit.\n"
WORKER = ("$WORKER_CLASS", "${WORKER_CLASS:-sync}", "sync")
# What services/template.yml and services/common.yml take where .env leaves a CPU set empty.
CPU_DEFAULTS = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1", "DATABASE_CPUS": "1"}
TWIN = "twin"
"""Compose's name of the container beside which `bench` loads the quick preset's twin: its A/A pair."""

QUIET = "  postgres: {healthcheck: {disable: true}}\n"
SECOND_DATABASE = """  postgres2:
    extends: {file: services/common.yml, service: postgres}
    healthcheck: {disable: true}
"""


def compose_file(matrix: Matrix) -> str:
    """Every service that is not skipped, in the profile `matrix`, and all that `bench_file` has."""
    own = {service.name for _, service, chosen in _quick_services(matrix) if not chosen}
    parts = [_service(s.name, s, matrix, profile=True) for s in matrix.services if not s.skip and s.name not in own]
    return "".join([HEADER, "services:\n", *parts, _bench_services(matrix)])


def bench_file(matrix: Matrix) -> str:
    """The quick preset's own services and `bench`, which needs them: what Compose reads in no time."""
    return f"{HEADER}services:\n{_bench_services(matrix)}"


def run_services(matrix: Matrix, services: Iterable[Service], *, second_database: bool = False) -> str:
    """A Compose file with a run's services; those of `bench_file` stand there.

    `second_database`: whether there are pairs that ask one, and need one for each side.
    """
    own = {service.name for _, service, chosen in _quick_services(matrix) if not chosen}
    body = "".join(_service(s.name, s, matrix, folder="services/") for s in services if s.name not in own)
    note = "  # matrix.sh checks the database itself; a health check would be charged to the measurement.\n"
    return "".join(["services:\n", note, QUIET, SECOND_DATABASE if second_database else "", body])


def _bench_services(matrix: Matrix) -> str:
    quick = list(_quick_services(matrix))
    parts = [_service(name, service, matrix, chosen=chosen) for name, service, chosen in quick]
    [twin_of] = [service for _, service, _ in quick if service.stack == matrix.presets["quick"].twin]
    parts.append(_service(TWIN, twin_of, matrix, image=twin_of.name))
    return "".join([*parts, _bench([*(name for name, _, _ in quick), TWIN], twin_of.name)])


def _quick_services(matrix: Matrix) -> Iterable[tuple[str, Service, bool]]:
    """(Compose name, service, whether WORKER_CLASS chooses it) of the quick preset."""
    services = {s.name: s for s in matrix.services}
    tail = suffix(matrix.default_python, matrix.default_base)
    knob, _, default = WORKER
    for stack in matrix.presets["quick"].stacks:
        yield (
            f"{stack.replace(knob, 'worker')}-{tail}",
            services[f"{stack.replace(knob, default)}-{tail}"],
            knob in stack,
        )


def _knob(name: str) -> str:
    return f"${{{name}:-{CPU_DEFAULTS.get(name, '')}}}"


def _image_knob(image: str, own: str | None) -> str:
    """The prefix of a base image in Compose's words; `own` is a knob that a base may have for itself."""
    prefix = f"${{LOCAL_{image.upper()}_IMAGE:-${{{image.upper()}_IMAGE:-{image}}}}}"
    return f"${{{own}:-{prefix}}}" if own else prefix


def _service(
    name: str,
    service: Service,
    matrix: Matrix,
    *,
    profile: bool = False,
    chosen: bool = False,
    image: str | None = None,
    folder: str = "",
) -> str:
    """One service; when `chosen`, the one whose server and image WORKER_CLASS chooses. `image`: if not by its name."""
    server, alias = service.server.name, image or name
    if chosen:
        _, value, default = WORKER
        server, alias = server.replace(default, value), service.name.replace(default, value)
    packages = service.server.packages.get(service.base)
    base = matrix.bases[service.base]
    python, version = python_image(service.python)
    args = {
        "PYTHON_IMAGE": _image_knob(python, base.get("image")),
        "PYTHON": version,
        "LOCKS": python_label(service.python),
        "STYLE": service.server.style,
        "FRAMEWORK": service.framework.folder,
        "SERVER": server,
    }
    if packages:
        args |= {"BUILD_PACKAGES": " ".join(packages.build), "RUN_PACKAGES": " ".join(packages.run)}
    if service.package:
        args["PACKAGE"] = service.package
    lines = [
        f"  {name}:",
        f"    extends: {{file: {folder}template.yml, service: app}}",
        f"    image: {json.dumps('bench/' + alias)}",
        *(["    profiles: [matrix]"] if profile else []),
        "    build:",
        f"      context: {folder or '.'}",
        f"      dockerfile: {base['dockerfile']}",
        f"      args: {json.dumps(args)}",
        *([f"    environment: {json.dumps(dict(own))}"] if (own := service.framework.environment) else []),
        *([f"    networks: {{bench: {{aliases: [{json.dumps(alias)}]}}}}"] if chosen else []),
    ]
    return "\n".join(lines) + "\n"


def _bench(names: Iterable[str], twin_of: str) -> str:
    needs = "".join(f"      {name}: {{condition: service_started}}\n" for name in names)
    return (
        "  bench:\n"
        "    extends: {file: common.yml, service: loadgen}\n"
        "    command: [/bench/loadgen/bench]\n"
        "    # Starts as root only to switch to the owner of results/.\n"
        '    user: "0:0"\n'
        "    cap_add: [SETUID, SETGID]\n"
        f"    environment: {json.dumps({name: _knob(name) for name in SETTINGS} | {'BENCH_TWIN_OF': twin_of})}\n"
        "    depends_on:\n"
        "      postgres: {condition: service_healthy}\n"
        "      upstream: {condition: service_started}\n"
        '      "null": {condition: service_started}\n'
        f"{needs}"
    )
