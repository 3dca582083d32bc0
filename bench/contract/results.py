"""The results of the checks for each service of a run: as lines, as a table of failures, and as JUnit XML."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.contract.verify import Outcome
from bench.core.formats import escaped
from bench.matrix.listeners import OwnBind

CHECK = "Listener and connection have the options of the server's own bind"
ROUTE = "sockets"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that was skipped, and the reason."""

    check: str
    reason: str

    def line(self) -> str:
        """The skip as it is printed."""
        return f"skip - {self.check}: {self.reason}"


def compare(read: Mapping[str, object], own_bind: OwnBind | None, settings: Mapping[str, str]) -> Outcome | Skipped:
    """The outcome for the output of the verb `sockets`; `own_bind` is None if listeners.toml lacks the server."""
    if own_bind is None:
        return Skipped(ROUTE, "its server's own bind is not in services/listeners.toml")
    if "unreadable" in read:
        return Skipped(ROUTE, str(read["unreadable"]))
    options = read.get("options")
    if not isinstance(options, Mapping):
        return _failed("a listener and a connection", str(read.get("fault")))
    wanted = own_bind.wanted(settings)
    if differing := [name for name in wanted if options.get(name) != wanted[name]]:
        return _failed(_listed(wanted, differing), _listed(options, differing))
    return Outcome(ROUTE, CHECK, True, None, None, 0.0)


def _failed(expected: str, got: str) -> Outcome:
    return Outcome(ROUTE, CHECK, False, expected, got, 0.0)


def _listed(options: Mapping[str, object], names: list[str]) -> str:
    return ", ".join(f"{name} {options.get(name)}" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChecks:
    """The checks of one service; `cause` says why it may not be loaded, and is empty if all passed."""

    service: str
    checks: tuple[Outcome, ...]
    cause: str
    skipped: tuple[Skipped, ...] = ()

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)


def read_services(run: Path, own_binds: Mapping[str, OwnBind], python: str) -> tuple[ServiceChecks, ...]:
    """Every service of the run, including those never checked; `python` is the Python on which own binds were read."""
    facts = json.loads((run / "run.json").read_text())
    knobs = facts.get("knobs", {})
    services = []
    for name, described in facts["services"].items():
        folder, service = run / "raw/services" / name, described or {}
        own_bind = own_binds.get(service.get("server", ""))
        sockets = _socket_check(folder, own_bind, knobs, "" if service.get("python") == python else python)
        services.append(_read(name, folder, sockets))
    return tuple(services)


def lines(service: ServiceChecks, *, quiet: bool) -> Iterator[str]:
    """The service and its checks, one per line; `quiet` leaves out what passed."""
    if not quiet or service.cause:
        yield f"# {service.service}"
    for check in service.checks:
        if not (check.ok and quiet):
            yield escaped(check.line())
    for skipped in () if quiet else service.skipped:
        yield escaped(skipped.line())
    if service.cause and not service.failed:
        yield escaped(f"not ok - {service.cause}")
    if not quiet:
        yield f"{len(service.checks) - len(service.failed)} passed, {len(service.failed)} failed"


def table(services: Sequence[ServiceChecks]) -> str:
    """The services that failed, one per row; empty if none did."""
    failed = [(s.service, f"{len(s.failed)} of {len(s.checks)}", escaped(s.cause)) for s in services if s.cause]
    rows = [("service", "failed", "first failure"), *failed]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows) if len(rows) > 1 else ""


def junit(name: str, services: Sequence[ServiceChecks]) -> str:
    """The run as JUnit XML: a suite for each service, a test case for each check, times in seconds."""
    from bench.core.templates import environment

    made = environment(Path(__file__).parent, autoescape=True)
    made.filters["escaped"] = escaped
    return made.get_template("junit.xml.jinja").render(name=name, services=services)


def _read(service: str, folder: Path, sockets: Outcome | Skipped | None) -> ServiceChecks:
    checks = tuple(Outcome(**entry) for entry in _object(folder / "verify.json").get("checks", ()))
    checks += (sockets,) if isinstance(sockets, Outcome) else ()
    checks += tuple(_stop_check(folder))
    failure = _object(folder / "failure.json")
    cause = f"{failure.get('outcome')}: {failure.get('detail')}" if failure else ""
    failed = [check for check in checks if not check.ok]
    if not cause and failed:
        cause = f"failed verification: {failed[0].line()}"
    if not cause and not checks:
        cause = "not verified"
    skipped = (sockets,) if isinstance(sockets, Skipped) else ()
    return ServiceChecks(service=service, checks=checks, cause=cause, skipped=skipped)


def _socket_check(
    folder: Path, own_bind: OwnBind | None, knobs: Mapping[str, str], other_python: str
) -> Outcome | Skipped | None:
    """The check of its sockets, which are read from outside its container; None if they were not read."""
    if not (read := _object(folder / "sockets.json")):
        return None
    if other_python:
        return Skipped("sockets", f"own binds were read on Python {other_python}; other Pythons have other versions")
    return compare(read, own_bind, knobs)


def _stop_check(folder: Path) -> Iterator[Outcome]:
    """The check, made from outside the service's container, whether it ended by itself after SIGTERM."""
    if stop := _object(folder / "stop.json"):
        status, seconds = stop["exit_status"], (stop["end_ns"] - stop["begin_ns"]) / 1e9
        ok = status in (0, 128 + signal.SIGTERM)
        expected, got = (None, None) if ok else ("exit status 0 or 143", f"{status}, {stop['tries']} times")
        yield Outcome("stop", "Ends within 10 s of SIGTERM under load", ok, expected, got, seconds)


def _object(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return value if isinstance(value, dict) else {}
