"""Generates docs/catalogue.md from the matrix and its locks: servers, frameworks, Pythons, and what is skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.core.formats import markdown_table
from bench.core.templates import environment
from bench.matrix.model import Matrix, Notes, python_label
from bench.matrix.packages import normalised, pins_in

SERVICES = Path("services")
INTERFACES = {"wsgi": "WSGI", "asgi": "ASGI", "rsgi": "RSGI"}
NO_LIMIT = "connections"
"""The note on a server without a limit of its own: as many requests as there are connections."""
STALL = "known defect: waits up to 40 ms for a delayed TCP acknowledgement"


def catalogue_file(matrix: Matrix) -> str:
    """The counts, then servers, frameworks, Pythons, and the skipped combinations with their causes."""
    offered = [s for s in matrix.services if not s.skip]
    template = environment(Path(__file__).parent).get_template("catalogue.md.jinja")
    return template.render(
        matrix=matrix,
        stacks=len({s.stack for s in offered}),
        services=len(offered),
        counts=", ".join(f"{sum(s.base == base for s in offered)} on {base}" for base in matrix.bases),
        documented=", ".join(f"`{s.name}`" for s in matrix.servers.values() if s.notes and s.notes.documented),
        table=_table,
        servers=_servers(matrix),
        frameworks=_frameworks(matrix),
        python_columns=("Python", *(f"services on {base}" for base in matrix.bases)),
        pythons=_pythons(matrix),
        skips=_skips(matrix),
    )


def versions(matrix: Matrix, kind: str, name: str) -> str:
    """The pinned versions of the packages in its requirements.txt, on the default Python: `gunicorn 23.0.0, ...`."""
    asked = (SERVICES / f"{kind}s" / name / "requirements.txt").read_text(encoding="utf-8")
    lock = SERVICES / "locks" / python_label(matrix.default_python) / f"{kind}-{name}.txt"
    pins = dict(pins_in(lock))
    # Once each: some have a line for each of several Pythons.
    keys = dict.fromkeys(map(normalised, re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)", asked, re.MULTILINE)))
    return ", ".join(f"{key} {pins[key]}" for key in keys if key in pins)


def _servers(matrix: Matrix) -> Iterator[Sequence[str]]:
    for server in matrix.servers.values():
        server_versions = versions(matrix, "server", server.name)
        hosts = ", ".join(INTERFACES.get(i, f"{i} apps") for i in server.serves)
        model = f"{server.model}; development server" if server.development else server.model
        version, notes = server_versions or versions(matrix, "framework", server.name), server.notes or Notes("", "")
        at_once = "no limit" if notes.default == NO_LIMIT else notes.default
        defects = (STALL if notes.stall else "", f"{STALL} with several workers" if notes.stall_of_several else "")
        changes = "; ".join(filter(None, (notes.adds, notes.sets, *defects)))
        link = f"[`{server.name}`](../{SERVICES}/servers/{server.name}/server.toml)"
        yield link, hosts, model, version, at_once, changes


def _frameworks(matrix: Matrix) -> Iterator[Sequence[str]]:
    for framework in matrix.frameworks.values():
        most = " and ".join(filter(None, ("all but the basic routes", ", ".join(framework.offers))))
        lacks = "; ".join(f"{most if route == '*' else route}: {why}" for route, why in framework.lacks.items())
        needs = " or ".join(INTERFACES.get(i, f"`{i}`") for i in framework.interfaces)
        link = f"[`{framework.name}`](../{SERVICES}/frameworks/{framework.name})"
        yield link, needs, versions(matrix, "framework", framework.name) or "(no framework)", lacks


def _pythons(matrix: Matrix) -> Iterator[Sequence[str]]:
    for python in matrix.pythons:
        here = [s for s in matrix.services if s.python == python and not s.skip]
        yield python, *(str(sum(s.base == base for s in here)) for base in matrix.bases)


def _skips(matrix: Matrix) -> Iterator[str]:
    for skip in matrix.skips:
        held = sum(skip.holds(s.name, s.server) for s in matrix.services)
        only = f", {skip.style or skip.route}" if skip.style or skip.route else ""
        yield f"- `{skip.service}`{only} ({held}): {skip.cause}"


def _table(names: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    return markdown_table(names, ([cell.replace("|", "\\|") for cell in row] for row in rows))
