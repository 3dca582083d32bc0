"""Asks one service for what the HTTP contract promises, before any load: `python3 -m bench verify`."""

import argparse
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from bench.contract import checks as _checks  # noqa: F401 - fills the registry
from bench.contract.arguments import Parser
from bench.contract.backing import HttpUpstream, PostgresDatabase
from bench.contract.client import Client, NoAnswer
from bench.contract.registry import CHECKS, STRIKES, Check, Outcome, Target, needs, run_check
from bench.contract.routes import ROUTES
from bench.core.errors import UserError
from bench.core.files import write_file

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Result:
    """What came of all checks of one service; `skipped` holds the reason by route that is not offered."""

    outcomes: tuple[Outcome, ...]
    skipped: dict[str, str]

    @property
    def passed(self) -> int:
        """Checks that held."""
        return sum(outcome.ok for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """Checks that did not."""
        return len(self.outcomes) - self.passed

    def as_json(self, service: str, interface: str | None) -> str:
        """The whole as one JSON text, `failed` and `skipped` being numbers as in the last line printed."""
        value = {
            "schema": SCHEMA,
            "service": service,
            "interface": interface,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": len(self.skipped),
            "missing": self.skipped,
            "checks": [asdict(outcome) for outcome in self.outcomes],
        }
        return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def verify(target: Target, routes: list[str], missing: dict[str, str], tell: Callable[[str], None] = print) -> Result:
    """Run the checks of these routes but the `missing` ones. Raises `UserError` for the harness's faults."""
    routes = [route for route in routes if route not in missing]
    for route, reason in missing.items():
        tell(f"skip - {route}: {reason}")
    wanted = [(one, route) for route in routes for one in CHECKS if one.applies(route, target, routes)]
    # What keeps other verifiers out comes together, so that they wait once.
    wanted.sort(key=lambda pair: (pair[0].last, pair[0].alone))
    if target.upstream and "simple-request" in routes:
        target.upstream.set_mode("ok")  # a verifier that was killed may have left it in another
    dead = _unreachable(target, routes)
    outcomes = []
    for outcome in _outcomes(target, wanted, dead):
        outcomes.append(outcome)
        tell(line(outcome))
    return Result(tuple(outcomes), missing)


def _outcomes(target: Target, wanted: list[tuple[Check, str]], dead: str | None) -> Iterator[Outcome]:
    """What comes of each check in turn; `dead`: why none is asked."""
    strikes = 0
    for alone, together in groupby(wanted, key=lambda pair: pair[0].alone):
        with _lock(target, exclusive=True) if alone and not dead else nullcontext():
            for one, route in together:
                if strikes == STRIKES:
                    dead = f"no request: {STRIKES} before it were not answered in time"
                if dead:
                    yield Outcome(route, one.name, False, "an answer", dead, 0.0)
                    continue
                with _lock(target, exclusive=False) if needs(route) == "database" and not alone else nullcontext():
                    outcome, late = run_check(one, target, route)
                strikes += late
                yield outcome


def line(outcome: Outcome) -> str:
    """One outcome as it is printed."""
    if outcome.ok:
        return f"ok - {outcome.route} {outcome.check}"
    return f"not ok - {outcome.route} {outcome.check}: expected {outcome.expected}, got {outcome.got}"


def run(argv: list[str]) -> int:
    """The command line; 0: all passed, 1: a check failed, 2: a fault of the command or of the harness."""
    options = _parse(argv)
    try:
        with _ended_by_signal(), ExitStack() as stack:
            target = _target(options, stack)
            result = verify(target, options.routes, options.missing, lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print("verify: interrupted; upstream answers as usual again", file=sys.stderr)
        return 130
    if options.json:
        try:
            write_file(options.json, result.as_json(options.service, options.interface))
        except OSError as error:
            raise UserError(f"cannot write {options.json}: {error.strerror}; mend --json") from error
    print(f"{result.passed} passed, {result.failed} failed, {len(result.skipped)} skipped", flush=True)
    return 1 if result.failed else 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="verify", description=__doc__, allow_abbrev=False)
    parser.add_argument("--service", required=True, metavar="NAME")
    parser.add_argument("--base-url", required=True, metavar="URL", help="http://HOST:PORT of the service")
    parser.add_argument("--routes", required=True, type=_routes, metavar="ID,...", help=", ".join(ROUTES))
    parser.add_argument("--declared-missing", nargs="*", action="extend", default=[], metavar="ID=REASON")
    claim = parser.add_mutually_exclusive_group()
    claim.add_argument("--concurrent", dest="concurrent", action="store_true", default=None)
    claim.add_argument("--sequential", dest="concurrent", action="store_false")
    parser.add_argument("--interface", help="recorded in the result: wsgi, asgi, ...")
    parser.add_argument("--database-host", metavar="HOST[:PORT]")
    parser.add_argument("--database-password-file", type=Path, default=Path("/run/secrets/database_password"))
    parser.add_argument("--upstream-control", metavar="URL", help="http://upstream:8081")
    parser.add_argument("--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="for one answer (30)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result there")
    options = parser.parse_args(argv)
    try:
        options.missing = dict(_missing(given) for given in options.declared_missing)
        options.client = Client(options.base_url, options.timeout)
    except ValueError as error:
        parser.error(str(error))
    behind = {needs(route) for route in options.routes if route not in options.missing}
    if "database" in behind and not options.database_host:
        parser.error("these routes need --database-host")
    if "upstream" in behind and not options.upstream_control:
        parser.error("simple-request needs --upstream-control")
    return options


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 3600:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds to wait")
    return seconds


def _routes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in ROUTES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"unknown route '{', '.join(unknown) or text}'; there are: {', '.join(ROUTES)}"
        )
    return list(dict.fromkeys(names))


def _missing(text: str) -> tuple[str, str]:
    route, equals, reason = text.partition("=")
    if route not in ROUTES or not equals or not reason.strip():
        raise ValueError(f"--declared-missing {text!r} is not ROUTE=REASON with a route of: {', '.join(ROUTES)}")
    return route, " ".join(reason.split())


def _target(options: argparse.Namespace, stack: ExitStack) -> Target:
    target = Target(options.client, concurrent=options.concurrent)
    if options.database_host:
        host, _, port = options.database_host.partition(":")
        try:
            password = options.database_password_file.read_text(encoding="utf-8").rstrip("\n")
            database = PostgresDatabase(host, int(port or 5432), password)
        except OSError as error:
            raise UserError(f"cannot read the password: {error}; mend --database-password-file") from error
        except ValueError as error:
            raise UserError(f"--database-host {options.database_host!r} is not HOST[:PORT]") from error
        stack.callback(database.close)
        target.database = database
    if options.upstream_control:
        try:
            target.upstream = HttpUpstream(options.upstream_control, options.client.address())
        except ValueError as error:
            raise UserError(f"--upstream-control: {error}") from error
        target.upstream.count()
    return target


def _unreachable(target: Target, routes: list[str]) -> str | None:
    """Why not even a first request is answered, or None."""
    try:
        for route in routes[:1]:
            with _lock(target, exclusive=False) if needs(route) == "database" else nullcontext():
                target.look(route)
    except NoAnswer as failure:
        return str(failure)
    return None


def _lock(target: Target, exclusive: bool) -> AbstractContextManager[None]:
    """Keep verifiers of other services from the tables, where any are used."""
    return target.database.lock(exclusive) if target.database else nullcontext()


@contextlib.contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM ends as Ctrl-C does, by way of what restores upstream."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
