"""services/compose.yml and services/bases.tsv from the matrix: pure text, one function each."""

from __future__ import annotations

import json
from collections.abc import Iterable

from report.matrix import Matrix, Service, suffix

HEADER = "# Generated from services/matrix.toml by scripts/generate.sh: do not edit.\n"
PYTHON_IMAGE = "${LOCAL_PYTHON_IMAGE:-${PYTHON_IMAGE:-python}}"
KNOBS = {"$WORKER_CLASS": "${WORKER_CLASS:-sync}"}


def compose_file(matrix: Matrix) -> str:
    """Every service in the profile `matrix`, then the quick preset's own and `bench`, which needs them."""
    quick = list(_quick_services(matrix))
    names = [name for name, _, _ in quick]
    parts = [HEADER, "services:\n"]
    parts += [_service(s.name, s, matrix, profile=s.name not in names) for s in matrix.services]
    parts += [_service(name, service, matrix, knob=knob) for name, service, knob in quick if knob is not None]
    parts.append(_bench(names))
    return "".join(parts)


def extra_services(matrix: Matrix, services: Iterable[Service]) -> str:
    """A Compose file with services that the committed one does not hold (other package versions)."""
    body = "".join(_service(s.name, s, matrix, folder="services/") for s in services)
    return f"services:\n{body}" if body else "services: {}\n"


def bases_file(matrix: Matrix) -> str:
    """Lines `PYTHON TAG SUITE`: the Debian bases that can be made where no registry answers."""
    lines = [
        f"{p}\t{b['tag']}\t{facts['suite']}\n" for p, facts in matrix.pythons.items() for b in [matrix.bases["debian"]]
    ]
    lines += [f"{p}\t{matrix.bases['alpine']['tag']}\t-\n" for p in matrix.pythons]
    return HEADER + "".join(lines)


def _quick_services(matrix: Matrix) -> Iterable[tuple[str, Service, str | None]]:
    """(Compose name, service, knob that its stack's name holds) of the quick preset."""
    services = {s.name: s for s in matrix.services}
    tail = suffix(matrix.default_python, matrix.default_base)
    for stack in matrix.presets["quick"].stacks:
        knob = next((k for k in KNOBS if k in stack), None)
        if knob is None:
            yield f"{stack}-{tail}", services[f"{stack}-{tail}"], None
        else:
            sample = services[f"{stack.replace(knob, _default(knob))}-{tail}"]
            yield f"{stack.replace(knob, 'worker')}-{tail}", sample, f"{stack}-{tail}"


def _default(knob: str) -> str:
    return KNOBS[knob].split(":-")[1].rstrip("}")


def _service(
    name: str,
    service: Service,
    matrix: Matrix,
    *,
    profile: bool = False,
    knob: str | None = None,
    folder: str = "",
) -> str:
    """One service; with `knob`, the one whose server and image a knob of .env chooses."""
    server, alias = service.server.name, name
    if knob:
        for key, value in KNOBS.items():
            knob = knob.replace(key, value)
            server = server.replace(_default(key), value)
        alias = knob
    packages = service.server.packages.get(service.base)
    args = {
        "PYTHON_IMAGE": PYTHON_IMAGE,
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
        f"      dockerfile: {matrix.bases[service.base]['dockerfile']}",
        f"      args: {json.dumps(args)}",
        *([f"    networks: {{bench: {{aliases: [{json.dumps(alias)}]}}}}"] if knob else []),
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
        "    depends_on:\n"
        "      postgres: {condition: service_healthy}\n"
        "      upstream: {condition: service_started}\n"
        f"{needs}"
    )
