"""Verbs for the matrix and the files that go with it: locks, own binds, new entries."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contract.sockets import OPTIONS
from bench.core.arguments import Parser, words_of
from bench.core.errors import UserError, unknown
from bench.matrix.audit import audit, pins
from bench.matrix.compose import run_services
from bench.matrix.listeners import LISTENERS, load_listeners, with_own
from bench.matrix.load import load_matrix
from bench.matrix.locks import PROJECT, relock, relock_project
from bench.matrix.model import python_label
from bench.matrix.new_entry import scaffold


def profile_compose_verb(argv: Sequence[str]) -> None:
    """`profile-compose SERVICE`: print the Compose file with this service, for scripts/profile.sh."""
    matrix = load_matrix()
    if not (services := [service for service in matrix.services if service.name in argv]):
        raise unknown("service", " ".join(argv), (service.name for service in matrix.services))
    print(run_services(matrix, services), end="")


NEXT_STEPS = """\
{folder} is written. Next, and again after each change:
  scripts/lock.sh {name}    pins what its requirements.txt asks for
  scripts/generate.sh    writes its Compose services and docs/catalogue.md
  scripts/verify.sh '{services}'
"""


def scaffold_verb(argv: Sequence[str]) -> None:
    """`scaffold server|framework NAME [asgi|wsgi]`: write its folder; print the next steps."""
    kind = argv[0] if argv else ""
    if kind not in ("server", "framework"):
        raise UserError(f"'{kind}' is neither server nor framework; see scripts/scaffold.sh --help")
    if len(argv) not in (2, 3):
        raise UserError("give a name, and optionally an interface; see scripts/scaffold.sh --help")
    matrix, name = load_matrix(), argv[1]
    scaffold(kind, name, argv[2] if len(argv) == 3 else "asgi")
    label = f"{python_label(matrix.default_python)}-{matrix.default_base}"
    services = f"{name}-*-{label}" if kind == "server" else f"*-{name}-{label}"
    print(NEXT_STEPS.format(folder=f"services/{kind}s/{name}", name=name, services=services), end="")


def lock_verb(argv: Sequence[str]) -> int:
    """`lock [--check] [--upgrade] [NAME...]`, in services/: write the locks; 1 if --check finds one out of date.

    With NAMEs, only the locks of these servers and frameworks.
    """
    parser = Parser("lock.sh")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--upgrade", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(argv)
    matrix = load_matrix(Path("matrix.toml"))
    locked = [*matrix.servers, *matrix.frameworks, *matrix.selftests]
    if missing := sorted({*options.names}.difference(locked)):
        raise unknown("server or framework", missing[0], locked, "docs/catalogue.md")
    arguments = options.names, options.check, options.upgrade
    try:
        stale = [path for python in matrix.pythons for path in relock(matrix, python, *arguments)]
        if not options.names:
            stale += relock_project(Path(".."), options.check, options.upgrade)
    except subprocess.CalledProcessError as error:
        raise UserError(f"{' '.join(error.cmd[:3])} failed: {error.stderr or 'see above'}") from error
    for path in stale:
        print(f"{path}: {'out of date' if options.check else 'written'}")
    return 1 if options.check and stale else 0


UNKNOWN = 3
"""The exit status if some pins could not be looked up, and the others have no known vulnerability."""


def audit_verb(argv: Sequence[str]) -> int:
    """`audit [NAME...]`, in services/: print known vulnerabilities; 1 if there are any, 3 if pins are unknown.

    With NAMEs, only the locks of these servers, frameworks and packages; else all, and those of the project itself.
    """
    parser = Parser("lock.sh --audit")
    parser.add_argument("names", nargs="*")
    names = parser.parse_args(argv).names
    locks = sorted(Path("locks").glob("*/*-*.txt"))
    if names:
        if missing := [name for name in names if not any(_owner(lock) == name for lock in locks)]:
            raise unknown("lock", missing[0], map(_owner, locks), "ls services/locks/*")
        locks = [lock for lock in locks if _owner(lock) in names]
    else:
        locks += [Path("..", folder, "requirements.txt") for folder in PROJECT]
    locks_of_pin = pins(locks)
    answer = audit(locks_of_pin)
    if isinstance(answer, str):
        print(f"the vulnerability service does not answer: {answer}", file=sys.stderr)
        return UNKNOWN
    vulnerabilities, not_known = answer
    for vulnerability in vulnerabilities:
        where = {f"{lock.parent.name}/{lock.stem}" for lock in locks_of_pin[vulnerability.pin]}
        fixed = f"fixed in {', '.join(vulnerability.fixed_in)}" if vulnerability.fixed_in else "no version without it"
        names = ", ".join(vulnerability.names)
        print(f"{'=='.join(vulnerability.pin)}: {names}; {fixed}; in {', '.join(sorted(where))}")
    if len(not_known) == len(locks_of_pin):
        none = f"knows none of {len(locks_of_pin)} pins: it is probably not reachable from here"
        print(f"the vulnerability service {none}", file=sys.stderr)
        return UNKNOWN
    for pin in not_known:
        print(f"{'=='.join(pin)}: not known to the service", file=sys.stderr)
    looked_up = f"{len(locks_of_pin) - len(not_known)} of {len(locks_of_pin)} pins looked up"
    print(f"{looked_up}, {len(vulnerabilities)} vulnerabilities known")
    return 1 if vulnerabilities else UNKNOWN if not_known else 0


def _owner(lock: Path) -> str:
    return lock.stem.partition("-")[2]


def own_binds_verb(argv: Sequence[str]) -> None:
    """`own-binds [SERVER...]`: print `SERVER<tab>SERVICE<tab>START` per server; SERVICE's image contains the server."""
    matrix, table = load_matrix(), load_listeners()
    if missing := [name for name in argv if name not in table]:
        raise unknown("server", missing[0], table, LISTENERS.as_posix())
    first: dict[str, str] = {}
    for service in matrix.usual:
        first.setdefault(service.server.name, service.name)
    for server, name in first.items():
        if server in table and (not argv or server in argv):
            print(f"{server}\t{name}\t{table[server].start}")


def own_binds_read_verb(argv: Sequence[str]) -> None:
    """`own-binds-read`: print listeners.toml with the options from `SERVER<tab>JSON` lines on standard input.

    UserError if a server could not be read.
    """
    words_of(argv, "own-binds-read")
    read = {}
    for line in sys.stdin:
        server, _, text = line.partition("\t")
        value = json.loads(text)
        if "options" not in value:
            raise UserError(f"{server}: {value.get('unreadable') or value.get('fault')}")
        read[server] = {name: value["options"][name] for name in OPTIONS}
    print(with_own(LISTENERS.read_text(encoding="utf-8"), read), end="")
