"""What the contract's checks said of each service of a run: their lines, what fails, and JUnit's XML."""

from __future__ import annotations

import argparse
import json
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.contract.registry import Outcome
from bench.contract.verify import line
from bench.core.arguments import Parser
from bench.core.files import write_file
from bench.run.folder import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A service with its checks; `cause` says why it may not be loaded, and is empty when all held."""

    service: str
    checks: tuple[Outcome, ...]
    cause: str

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Checks that did not hold."""
        return tuple(check for check in self.checks if not check.ok)


def read_verified(run: Path) -> tuple[Verified, ...]:
    """Every service that the run names, also one whose checks were never reached."""
    return tuple(
        _read(name, run / "raw/services" / name) for name in json.loads((run / "run.json").read_text())["services"]
    )


def lines(verified: Verified, *, quiet: bool) -> Iterator[str]:
    """The service and its checks, a line each; `quiet` leaves out what held."""
    if not quiet or verified.cause:
        yield f"# {verified.service}"
    for check in verified.checks:
        if not (check.ok and quiet):
            yield _printable(line(check))
    if verified.cause and not verified.failed:
        yield _printable(f"not ok - {verified.cause}")
    if not quiet:
        yield f"{len(verified.checks) - len(verified.failed)} passed, {len(verified.failed)} failed"


def table(all_verified: Sequence[Verified]) -> str:
    """What fails, a row for each service, in aligned columns; empty when nothing does."""
    rows = [("service", "failed", "first")]
    for one in all_verified:
        if one.cause:
            rows.append((one.service, f"{len(one.failed)} of {len(one.checks)}", _printable(one.cause)))
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows) if len(rows) > 1 else ""


def junit(name: str, all_verified: Sequence[Verified]) -> str:
    """The run as JUnit's XML: a suite for each service, a case for each check, times in seconds."""
    root = ElementTree.Element("testsuites", name=name)
    for one in all_verified:
        unreached = bool(one.cause and not one.failed)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=one.service,
            tests=str(len(one.checks) + unreached),
            failures=str(len(one.failed)),
            errors=str(int(unreached)),
            time=f"{sum(check.seconds for check in one.checks):.3f}",
        )
        for check in one.checks:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=one.service,
                name=f"{check.route} {check.check}",
                time=f"{check.seconds:.3f}",
            )
            if not check.ok:
                ElementTree.SubElement(case, "failure", message=_printable(line(check)))
        if unreached:
            case = ElementTree.SubElement(suite, "testcase", classname=one.service, name="is there to be checked")
            ElementTree.SubElement(case, "error", message=_printable(_printable(one.cause)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def run(argv: Sequence[str]) -> int:
    """`summary RUN [--quiet]`: print every service's checks, write RUN/junit.xml; 1 when a service failed."""
    options = _parse(argv)
    folder = find_run(options.run)
    all_verified = read_verified(folder)
    for one in all_verified:
        print(*lines(one, quiet=options.quiet), sep="\n", end="\n" if one.cause or not options.quiet else "")
    write_file(folder / "junit.xml", junit(folder.name, all_verified))
    skipped = Counter(skip["cause"] for skip in json.loads((folder / "run.json").read_text()).get("skipped", ()))
    for cause, count in skipped.items():
        print(f"skipped: {count} ({cause})")
    failed = sum(bool(one.cause) for one in all_verified)
    if failed:
        print(table(all_verified))
    print(f"services: {len(all_verified) - failed} passed, {failed} failed (checks: {folder}/junit.xml)")
    return 1 if failed else 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser("verify.sh")
    parser.add_argument("run")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(argv)


def _read(service: str, folder: Path) -> Verified:
    checks = tuple(Outcome(**entry) for entry in _object(folder / "verify.json").get("checks", ()))
    checks += tuple(_stopped(folder))
    failure = _object(folder / "failure.json")
    cause = f"{failure.get('outcome')}: {failure.get('detail')}" if failure else ""
    if not cause and checks and not checks[-1].ok:
        cause = f"failed verification: {line(checks[-1])}"
    if not cause and not checks:
        cause = "not verified"
    return Verified(service=service, checks=checks, cause=cause)


def _stopped(folder: Path) -> Iterator[Outcome]:
    """The check that scripts/verify.sh makes itself, from outside: its raw file has the container's exit status."""
    stop = _object(folder / "stop.json")
    if stop:
        status, seconds = stop["exit_status"], (stop["end_ns"] - stop["begin_ns"]) / 1e9
        ok = status in (0, 128 + signal.SIGTERM)
        expected, got = (None, None) if ok else ("exit status 0 or 143", f"{status}, {stop['tries']} times")
        yield Outcome("stop", "Ends within 2 s of SIGTERM under load", ok, expected, got, seconds)


def _object(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return value if isinstance(value, dict) else {}


def _printable(text: str) -> str:
    """`text` with escapes for what a terminal would obey and XML cannot hold."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
