"""`profile` and its companions for scripts/profile.sh: where a worker's time went, and what a framework costs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.analysis import framework_costs
from bench.analysis.framework_costs import BARE, Window
from bench.analysis.profile import cpu_shares, package_shares
from bench.core.errors import UserError, unknown
from bench.matrix.compose import run_services
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix, Service, suffix
from bench.parse import wrk

RAW_AND_ORM = ("/db", "/queries/20", "/updates/20", "/fortunes")


def profile_verb(argv: Sequence[str]) -> int:
    """`profile FILE PATH`: print CPU time (FILE.before, FILE.after) and samples (FILE.raw) under load of PATH."""
    if len(argv) != 2:
        raise UserError("profile takes a file without its extension and a path; see scripts/profile.sh --help")
    before, after, stacks = (Path(f"{argv[0]}.{name}").read_text() for name in ("before", "after", "raw"))
    user, kernel = cpu_shares(before, after, os.sysconf("SC_CLK_TCK"))
    print(f"{argv[1]}: CPU {100 * user:.0f} % in user space, {100 * kernel:.0f} % in the kernel")
    for name, share in package_shares(stacks).items():
        print(f"{100 * share:5.1f} % {name}")
    return 0


def profile_services_verb(argv: Sequence[str]) -> int:
    """`profile-services PYTHON SERVER...`: print each server's services in a line, the bare app first."""
    if len(argv) < 2:
        raise UserError("profile-services takes a Python and servers; see scripts/profile.sh --help")
    matrix = load_matrix()
    for server in argv[1:]:
        print(*(service.name for service in _services(matrix, argv[0], server)))
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
    """`profile-table FOLDER PATH...`: print the table of what was saved there, and what in it needs an explanation."""
    if len(argv) < 2:
        raise UserError("profile-table takes a folder and paths; see scripts/profile.sh --help")
    folder, routes = Path(argv[0]), argv[1:]
    named = {service.name: service for service in load_matrix().services}
    services = [named[path.name] for path in sorted(folder.iterdir()) if path.name in named]
    groups = _groups(services)
    bare_of = {s.name: group[0].name for group in groups for s in group[1:] if group[0].framework.name in BARE}
    kinds = {s.name: s.server.style for s in services}
    found = framework_costs.costs(_windows(folder, routes), bare_of)
    high = framework_costs.outliers(found, kinds)
    print(framework_costs.table(found, [[s.name for s in group] for group in groups], routes, high))
    for (service, route), middle in high.items():
        share = found[service, route].share
        print(f"{service} {route}: {share:.2f} of the bare app's, where the median of its kind is {middle:.2f}")
    for path in RAW_AND_ORM:
        raw, orm = f"/raw{path}", f"/orm{path}"
        for service in framework_costs.reordered(found, kinds, raw, orm) if {raw, orm} <= set(routes) else ():
            print(f"{service} {path}: three or more places apart between raw and ORM")
    return 0


def _services(matrix: Matrix, python: str, server: str) -> list[Service]:
    ending = suffix(python, matrix.default_base)
    chosen = [s for s in matrix.services if s.server.name == server and s.name.endswith(ending) and not s.skip]
    if not chosen:
        raise UserError(f"there is no service of server '{server}' on Python {python}")
    return sorted(chosen, key=lambda service: service.framework.name not in BARE)


def _groups(services: Sequence[Service]) -> list[list[Service]]:
    """The services of each server, the bare app first; those of servers without one last."""
    groups: dict[str, list[Service]] = {}
    for service in sorted(services, key=lambda service: service.framework.name not in BARE):
        groups.setdefault(service.server.name, []).append(service)
    return list(groups.values())


def _windows(folder: Path, routes: Sequence[str]) -> Iterator[Window]:
    """What scripts/profile.sh saved: SERVICE/NUMBER-OF-THE-ROUTE.ROUND.{wrk,before,after}."""
    for output in sorted(folder.glob("*/*.wrk")):
        number, round_, _ = output.name.split(".")
        parsed = wrk.parse(output.read_bytes())
        before, after = (_counters(output.with_suffix(f".{name}"))["cpu_usage_ns"] for name in ("before", "after"))
        answered = parsed.ok if parsed.ok == parsed.requests else None
        cost = (after - before) / answered if answered else None
        yield Window(output.parent.name, routes[int(number)], int(round_), cost)


def _counters(path: Path) -> Mapping[str, int]:
    pairs = (line.split(maxsplit=1) for line in path.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}
