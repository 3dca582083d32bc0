"""`profile-services` and its companions for scripts/profile.sh --table: what frameworks cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.analysis.profiles import cost_windows, framework_costs
from bench.analysis.profiles.framework_costs import BARE, Group, Window
from bench.core.errors import UserError, unknown
from bench.matrix.compose import run_services
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix
from bench.matrix.service import Service, suffix
from bench.render.cost_tables import table, to_explain

RAW_AND_ORM = ("/db", "/queries/20", "/updates/20", "/fortunes")
CALLABLE = ("wsgi", "asgi")
"""The interfaces of apps that can be called without a server."""


def profile_services_verb(argv: Sequence[str]) -> int:
    """`profile-services PYTHON SERVER...`: print a line for each group, SERVICE=INTERFACE..., the bare app first."""
    if len(argv) < 2:
        raise UserError("profile-services takes a Python and servers; see scripts/profile.sh --help")
    matrix = load_matrix()
    services = [service for server in argv[1:] for service in _services(matrix, argv[0], server)]
    named = {service.name: service for service in services}
    for group in _groups(services):
        print(*(f"{name}={named[name].interface}" for name in group.services))
    return 0


def profile_compose_verb(argv: Sequence[str]) -> int:
    """`profile-compose SERVICE...`: print the Compose file with these services."""
    matrix = load_matrix()
    named = {service.name: service for service in matrix.services}
    for name in argv:
        if name not in named:
            raise unknown("service", name, list(named))
    print(run_services(matrix, [named[name] for name in argv]), end="")
    return 0


def profile_table_verb(argv: Sequence[str]) -> int:
    """`profile-table FOLDER PATH...`: print the tables of what was saved there, and what they leave to explain."""
    if len(argv) < 2:
        raise UserError("profile-table takes a folder and paths; see scripts/profile.sh --help")
    folder, routes = Path(argv[0]), argv[1:]
    matrix = load_matrix()
    named = {service.name: service for service in matrix.services}
    services = [named[path.name] for path in sorted(folder.iterdir()) if path.name in named]
    groups = _groups(services)
    called = [group for group in groups if any(named[s].interface in CALLABLE for s in group.services)]
    loaded = cost_windows.under_server(folder, [s.name for s in services], routes)
    windows = [window for window in loaded if _offers(matrix, named[window.service], window.route)]
    _print("Under the server", windows, groups, routes, named)
    _print("In process", list(cost_windows.in_process(folder, called, routes)), called, routes, named)
    without = [s.stack for s in services if s.interface not in CALLABLE]
    if without:
        print(f"No interface to call in process: {', '.join(without)}")
    return 0


def _print(
    title: str, windows: Sequence[Window], groups: Sequence[Group], routes: Sequence[str], named: dict[str, Service]
) -> None:
    if not windows:
        return
    found = framework_costs.costs(windows, groups)
    high = framework_costs.outliers(found, groups)
    measured = {window.service for window in windows}
    print(f"{title}\n")
    for group in groups:
        if measured.isdisjoint(group.services):
            continue
        names = {s: named[s].framework.name if group.bare else named[s].stack for s in group.services}
        print(table(found, group, routes, names, high))
    turned = framework_costs.reversals(found, groups, RAW_AND_ORM)
    lines = list(to_explain(found, high, turned, framework_costs.void(windows)))
    if lines:
        print("\n".join(f"- {line}" for line in lines) + "\n")


def _offers(matrix: Matrix, service: Service, path: str) -> bool:
    """Whether a service has the route of a path; of a path of no route, its answers say so."""
    routes = (r for r in matrix.routes.values() if re.fullmatch(re.escape(r.path).replace(r"\{n\}", r"\d+"), path))
    return not any(service.lacking(route) for route in routes)


def _services(matrix: Matrix, python: str, server: str) -> list[Service]:
    ending = suffix(python, matrix.default_base)
    chosen = [s for s in matrix.services if s.server.name == server and s.name.endswith(ending) and not s.skip]
    if not chosen:
        raise UserError(f"there is no service of server '{server}' on Python {python}")
    return chosen


def _groups(services: Iterable[Service]) -> list[Group]:
    """A group for each server that has a bare app beside others, which is first, and one for all other services."""
    by_server: dict[str, list[Service]] = {}
    for service in sorted(services, key=lambda service: service.framework.name not in BARE):
        by_server.setdefault(service.server.name, []).append(service)
    groups, own = [], []
    for server, members in by_server.items():
        if len(members) > 1 and members[0].framework.name in BARE:
            names = [service.name for service in members]
            groups.append(Group(server, members[0].server.style, names, names[0]))
        else:
            own += members
    for style in sorted({service.server.style for service in own}):
        alone = [service.name for service in own if service.server.style == style]
        groups.append(Group(f"own servers, {style}", f"{style}, own server", alone))
    return groups
