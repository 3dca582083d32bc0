"""services/compose.yml and services/bases.tsv from the matrix: pure text, one function each."""

from __future__ import annotations

import json
from collections.abc import Iterable

from report.knobs import KNOBS
from report.matrix import Matrix, Service, suffix

HEADER = "# Generated from services/matrix.toml by scripts/generate.sh: do not edit.\n"
PYTHON_IMAGE = "${LOCAL_PYTHON_IMAGE:-${PYTHON_IMAGE:-python}}"
WORKER = ("$WORKER_CLASS", "${WORKER_CLASS:-sync}", "sync")
# What services/template.yml and services/common.yml take where .env leaves a CPU set empty.
CPU_DEFAULTS = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1", "DATABASE_CPUS": "1"}


QUIET = "  postgres: {healthcheck: {disable: true}}\n"


def compose_file(matrix: Matrix) -> str:
    """Every service in the profile `matrix`, then the quick preset's own and `bench`, which needs them."""
    quick = list(_quick_services(matrix))
    names = [name for name, _, _ in quick]
    parts = [HEADER, "services:\n"]
    parts += [_service(s.name, s, matrix, profile=s.name not in names) for s in matrix.services]
    parts += [_service(name, service, matrix, chosen=True) for name, service, chosen in quick if chosen]
    parts.append(_bench(names))
    return "".join(parts)


def extra_services(matrix: Matrix, services: Iterable[Service]) -> str:
    """A Compose file with services that the committed one does not hold (other package versions)."""
    body = "".join(_service(s.name, s, matrix, folder="services/") for s in services)
    return f"services:\n  # matrix.sh asks the database itself; a check would be charged to the window.\n{QUIET}{body}"


def bases_file(matrix: Matrix) -> str:
    """Lines `PYTHON TAG SUITE`: the Debian bases that can be made where no registry answers."""
    lines = [
        f"{p}\t{b['tag']}\t{facts['suite']}\n" for p, facts in matrix.pythons.items() for b in [matrix.bases["debian"]]
    ]
    lines += [f"{p}\t{matrix.bases['alpine']['tag']}\t-\n" for p in matrix.pythons]
    return HEADER + "".join(lines)


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


def _service(
    name: str, service: Service, matrix: Matrix, *, profile: bool = False, chosen: bool = False, folder: str = ""
) -> str:
    """One service; when `chosen`, the one whose server and image WORKER_CLASS chooses."""
    server, alias = service.server.name, name
    if chosen:
        _, value, default = WORKER
        server, alias = server.replace(default, value), service.name.replace(default, value)
    packages = service.server.packages.get(service.base)
    base = matrix.bases[service.base]
    args = {
        "PYTHON_IMAGE": f"${{{base['image']}:-{PYTHON_IMAGE}}}" if "image" in base else PYTHON_IMAGE,
        "PYTHON": service.python,
        "STYLE": service.server.style,
        "FRAMEWORK": service.framework.name,
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
        *([f"    networks: {{bench: {{aliases: [{json.dumps(alias)}]}}}}"] if chosen else []),
    ]
    return "\n".join(lines) + "\n"


def _bench(names: Iterable[str]) -> str:
    needs = "".join(f"      {name}: {{condition: service_started}}\n" for name in names)
    return (
        "  bench:\n"
        "    extends: {file: common.yml, service: loadgen}\n"
        "    command: [/bench/loadgen/bench]\n"
        "    # Starts as root only to become the owner of results/.\n"
        '    user: "0:0"\n'
        "    cap_add: [SETUID, SETGID]\n"
        f"    environment: {json.dumps({name: _knob(name) for name in KNOBS})}\n"
        "    depends_on:\n"
        "      postgres: {condition: service_healthy}\n"
        "      upstream: {condition: service_started}\n"
        f"{needs}"
    )
