"""`verify` a running service; and `summary` of a run's checks."""

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.contract import results
from bench.contract.answers import find_template, needs
from bench.contract.checks import Target
from bench.contract.client import Client, Clock
from bench.contract.dependencies import Database, Upstream
from bench.contract.verify import failure_text, verify
from bench.core.arguments import Parser
from bench.core.errors import UserError, unknown
from bench.core.files import write_file
from bench.exchange import checks
from bench.matrix.listeners import load_listeners
from bench.matrix.load import load_matrix
from bench.run.facts import read_run_facts
from bench.run.folder import find_run

PASSED, FAILED, LATE, INTERRUPTED = 0, 1, 3, 130
ANSWER_S = 30.0
"""Seconds that one answer may take."""


def verify_verb(argv: Sequence[str], clock: Clock | None = None) -> int:
    """Check one service against the HTTP contract.

    Exit status: 0 all checks passed; 1 a check failed; 2 the command or the harness is at fault; 3 checks failed, and
    every one only because an answer took too long, so that another try on an idle machine may pass.
    """
    options = _parse_verify(argv, clock or Clock())
    # Like Ctrl-C, so that upstream's mode is restored.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            result = verify(_target(options, stack), options.routes, checks(), lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print("verify: interrupted; upstream is back to normal", file=sys.stderr)
        return INTERRUPTED
    # verify.json last: it marks the service as verified, so failure.json must exist before.
    if options.failure and result.failures:
        _write(options.failure, failure_text(result.failures[0].line(), final=result.wrong), "--failure")
    if options.json:
        _write(options.json, result.as_json(options.service), "--json")
    print(", ".join(f"{count} {what}" for what, count in result.counts().items()), flush=True)
    if result.late:
        return LATE
    return FAILED if result.failures else PASSED


def summary_verb(argv: Sequence[str]) -> int:
    """Print the checks of every service of a run and write RUN/junit.xml; exit status 1 when a service failed."""
    parser = Parser("verify.sh")
    parser.add_argument("run")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(argv)
    folder = find_run(options.run)
    services = results.read_services(folder, load_listeners(), load_matrix().default_python)
    for service in services:
        for line in results.lines(service, quiet=options.quiet):
            print(line)
    write_file(folder / "junit.xml", results.junit(folder.name, services))
    for cause, count in Counter(skip.cause for skip in read_run_facts(folder).skipped).items():
        print(f"skipped: {count} ({cause})")
    for line, count in Counter(skip.line() for service in services for skip in service.skipped).items():
        print(f"{line} ({count} services)")
    failed = sum(bool(service.cause) for service in services)
    if failed:
        print(results.table(services))
    print(f"services: {len(services) - failed} passed, {failed} failed (checks: {folder}/junit.xml)")
    return FAILED if failed else PASSED


def _parse_verify(argv: Sequence[str], clock: Clock) -> argparse.Namespace:
    form = {"description": verify_verb.__doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = Parser("verify", "python3 -m bench verify --help", **form)
    parser.add_argument("-h", "--help", action="help")
    parser.add_argument("--service", required=True, metavar="NAME")
    parser.add_argument("--base-url", required=True, metavar="URL", help="http://HOST:PORT of the service")
    parser.add_argument("--routes", required=True, type=_routes, metavar="ID,...", help=", ".join(_known()))
    claim = parser.add_mutually_exclusive_group()
    what = "the service claims to serve requests concurrently, which is checked"
    claim.add_argument("--concurrent", action="store_true", default=None, help=what)
    claim.add_argument("--sequential", dest="concurrent", action="store_false", help="it does not")
    parser.add_argument("--framework", metavar="NAME", help="whose template the fortunes must be rendered from")
    parser.add_argument("--database-host", metavar="HOST[:PORT]")
    parser.add_argument("--database-password-file", type=Path, default=Path("/run/secrets/database_password"))
    parser.add_argument("--upstream-control", metavar="URL", help="http://upstream:8081")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result to FILE")
    parser.add_argument("--failure", type=Path, metavar="FILE", help="write the first failed check to FILE, if any")
    options = parser.parse_args(argv)
    try:
        options.client = Client(options.base_url, ANSWER_S, clock)
    except ValueError as error:
        parser.error(str(error))
    needed = {needs(route) for route in options.routes}
    if "database" in needed and not options.database_host:
        parser.error("these routes need --database-host")
    if "upstream" in needed and not options.upstream_control:
        parser.error("simple-request needs --upstream-control")
    return options


def _routes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = _known()
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise unknown("route", ", ".join(missing) or text, known)
    return list(dict.fromkeys(names))


def _known() -> list[str]:
    return list(dict.fromkeys(route for check in checks() for route in check.routes))


def _target(options: argparse.Namespace, stack: ExitStack) -> Target:
    target = Target(options.client, concurrent=options.concurrent)
    if options.framework:
        target.template = find_template(options.framework)
    if options.database_host:
        host, _, port = options.database_host.partition(":")
        try:
            password = options.database_password_file.read_text(encoding="utf-8").rstrip("\n")
            database = Database(host, int(port or 5432), password)
        except OSError as error:
            raise UserError(f"cannot read the password: {error}; fix --database-password-file") from error
        except ValueError as error:
            raise UserError(f"--database-host {options.database_host!r} is not HOST[:PORT]") from error
        stack.callback(database.close)
        target.database = database
    if options.upstream_control:
        try:
            target.upstream = Upstream(options.upstream_control, options.client.address())
        except ValueError as error:
            raise UserError(f"--upstream-control: {error}") from error
        target.upstream.count()
    return target


def _write(file: Path, text: str, option: str) -> None:
    try:
        write_file(file, text)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; fix {option}") from error
