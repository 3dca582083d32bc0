"""The names that can be selected: services/names.tsv, from which the host answers `scripts/matrix.sh --list WHAT`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from bench.core.exchange import GET, Exchange
from bench.core.formats import joined
from bench.core.groups import grouped
from bench.core.typed import as_plain
from bench.matrix.catalogue import INTERFACES, versions
from bench.matrix.compose import HEADER
from bench.matrix.knobs import ALLOWED, AS_FLAGS, INTERPRETER, LIBC, reader
from bench.matrix.model import BARE, Matrix
from bench.plan.event import BAD_DAY
from bench.plan.event_cells import event_cells
from bench.plan.events import EVENTS, kinds_of, usual_cases
from bench.tools import TOOLS
from bench.tools.levels import FORMS, Level, refusal
from bench.words.names import wait_words

Named = Iterable[tuple[str, str]]
"""(name, description) pairs."""


def names_file(matrix: Matrix) -> str:
    """services/names.tsv: every list, a line `WHAT NAME DESCRIPTION` for each name, tab-separated."""
    named = ((what, *line) for what, lines in LISTS.items() for line in lines(matrix))
    return HEADER + "".join("\t".join(line) + "\n" for line in named)


def _stacks(matrix: Matrix) -> Named:
    """Stacks with their server's worker model, or with the cause if they never run."""
    for stack, of_stack in grouped(matrix.services, lambda service: service.stack).items():
        causes, server = dict.fromkeys(service.skip for service in of_stack), of_stack[0].server
        named = "only by name: " if server.development or server.variant_of else ""
        yield stack, named + server.model if None in causes else f"left out: {'; '.join(map(str, causes))}"


def _servers(matrix: Matrix) -> Named:
    for name, server in matrix.servers.items():
        mark = "; a development server" if server.development else ""
        hosts = joined([INTERFACES.get(one, f"{one} apps") for one in server.serves])
        yield name, f"{server.model}; hosts {hosts}{mark}"


def _frameworks(matrix: Matrix) -> Named:
    """Frameworks with the servers that they run on, and their packages' versions on the default Python."""
    for name, framework in matrix.frameworks.items():
        servers = [server.name for server in matrix.servers.values() if {*server.serves} & {*framework.interfaces}]
        interfaces = [INTERFACES[one] for one in framework.interfaces if one in INTERFACES]
        packages = "" if name in BARE else f"; {versions(matrix, 'framework', name)}"
        yield name, f"on {joined(interfaces) + ' servers' if interfaces else joined(servers)}{packages}"


def _default(name: str, default: str) -> str:
    return "the default" if name == default else ""


def _scenarios(matrix: Matrix) -> Named:
    """Scenarios with their request and what it waits for; N stands for any number."""
    example = "20"
    for route in matrix.routes.values():
        if route.selftest:
            continue
        for scenario in route.scenarios:
            _, sent = matrix.route_of(scenario.replace("{n}", example))
            waits = wait_words(sent.wait)
            path = sent.path if route.exchanges else route.exchange.path.replace("{n}", "N")
            words = filter(None, (sent.method, path, sent.body, _facts(sent)))
            after = f": every response waits for {waits.replace(example, 'N')}" if waits else ""
            yield scenario.replace("{n}", "N"), " ".join(words) + after


def _facts(sent: Exchange) -> str:
    """What else is known of it: `(kind websocket, protocol ws, size 16)`; empty for a usual request."""
    known = {name: value for name, value in as_plain(sent).items() if value != getattr(GET, name)}
    words = [f"{name} {value}" for name, value in known.items() if name not in ("method", "path", "body", "wait")]
    return f"({', '.join(words)})" if words else ""


def _levels(matrix: Matrix) -> Named:
    for form, words in FORMS.items():
        yield form, f"{words}; by {joined([name for name in TOOLS if form in _levels_of(name)])}"


def _levels_of(tool: str) -> list[str]:
    return [form for form in FORMS if refusal(tool, Level.parse(form), GET) is None]


def _knobs(matrix: Matrix) -> Named:
    """Knobs with their allowed values and the servers that read them."""
    reads = reader()
    servers = {one.server.name for one in matrix.usual}
    for name, (_, allowed) in ALLOWED.items():
        by = {one.server.name for one in matrix.usual if reads(one, name) is None}
        others = sorted(servers - by)
        most = f"every server{' except ' if others else ''}{joined(others)}"
        yield name, f"{allowed}; {joined(sorted(by)) if len(by) < len(others) else most}"
    readers = [server for server in matrix.servers.values() if AS_FLAGS.isdisjoint(server.reads)]
    for glob in dict.fromkeys(glob for server in readers for glob in server.reads):
        yield glob, f"variables that {joined([server.name for server in readers if glob in server.reads])} read"
    yield INTERPRETER, "variables that Python reads"
    for glob in LIBC:
        yield glob, "variables that glibc reads, on Debian"


def _events(matrix: Matrix) -> Named:
    """Events with what is done, the cases that only their own name selects, and the servers that cannot have them."""
    reads, bad_day = reader(), matrix.presets[BAD_DAY]
    usual, servers = bad_day.events, {service.server.name for service in matrix.usual}
    for name, kind in EVENTS.items():
        preset = replace(bad_day, events=(name,))
        cannot = servers - {s.server.name for s in matrix.usual if any(event_cells(matrix, s, preset, reads, []))}
        chosen = {case.level for one in kinds_of(usual_cases([name], usual, all_rounds=True)) for case in one.cases}
        others = [case.level for case in kind.cases if case.level not in chosen]
        more = f"; only by name: {joined(others)}" if others else ""
        yield name, kind.title + more + (f"; not for {joined(sorted(cannot))}" if cannot else "")


LISTS: Mapping[str, Callable[[Matrix], Named]] = {
    "presets": lambda matrix: ((name, preset.title) for name, preset in matrix.presets.items()),
    "stacks": _stacks,
    "servers": _servers,
    "frameworks": _frameworks,
    "pythons": lambda matrix: ((name, _default(name, matrix.default_python)) for name in matrix.pythons),
    "bases": lambda matrix: ((name, _default(name, matrix.default_base)) for name in matrix.bases),
    "services": lambda matrix: ((s.name, f"left out: {s.skip}" if s.skip else "") for s in matrix.services),
    "scenarios": _scenarios,
    "tools": lambda _: ((name, f"levels such as {joined(_levels_of(name))}") for name in TOOLS),
    "levels": _levels,
    "knobs": _knobs,
    "events": _events,
}
"""The lists, by the argument of `--list`: the plural of each of `bench.core.errors.LISTED`."""
