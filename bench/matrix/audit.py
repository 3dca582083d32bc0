"""Known vulnerabilities of what the locks pin, as pip-audit has them from PyPI.

pip-audit asks for one version of a package at a time, and takes what its service does not know for free of faults, with
status 0; here the two differ, and a service that knows nothing at all is one that is not reachable.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.matrix.packages import pins_in

COMMAND = ("pip-audit", "--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json")

Pin = tuple[str, str]
"""Name and version."""


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """One that is known of a pin: its names, and the versions without it."""

    pin: Pin
    names: tuple[str, ...]
    fixed_in: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, how many pins were asked for, and for which there was no answer."""

    found: tuple[Vulnerability, ...]
    asked: int
    unknown: tuple[Pin, ...]


def pins(locks: Collection[Path]) -> dict[Pin, list[Path]]:
    """Every pin with the locks that have it."""
    found: dict[Pin, list[Path]] = {}
    for lock in sorted(locks):
        for pin in pins_in(lock):
            found.setdefault(pin, []).append(lock)
    return found


def audit(wanted: Collection[Pin]) -> Audit | str:
    """The answers of pip-audit (on PATH) for these pins; where it has none, its last line."""
    dependencies: list[Mapping[str, Any]] = []
    for group in _groups(wanted):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "pins.txt")
            file.write_text("".join(f"{name}=={version}\n" for name, version in group), encoding="utf-8")
            done = subprocess.run([*COMMAND, "--requirement", str(file)], capture_output=True, text=True, check=False)
        try:
            dependencies += json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError, TypeError):
            return (done.stderr.strip().splitlines() or [f"pip-audit ended with status {done.returncode}"])[-1]
    known = {(one["name"], one["version"]): one for one in dependencies if "skip_reason" not in one}
    found = [
        Vulnerability(pin, (fault["id"], *fault.get("aliases", ())), tuple(fault.get("fix_versions", ())))
        for pin, one in sorted(known.items())
        for fault in one.get("vulns", ())
    ]
    return Audit(tuple(found), len(wanted), tuple(sorted(pin for pin in wanted if pin not in known)))


def _groups(wanted: Collection[Pin]) -> Iterator[list[Pin]]:
    """The pins in as few groups as have each name once, as pip-audit reads a file."""
    left: Sequence[Pin] = sorted(wanted)
    while left:
        group = {name: (name, version) for name, version in left}
        yield list(group.values())
        left = [pin for pin in left if pin not in set(group.values())]
