"""Known vulnerabilities of the pinned packages, from PyPI through pip-audit.

pip-audit reports a version that PyPI does not know as free of vulnerabilities, with status 0. Here such pins are listed
separately; if PyPI knows none of them, it is unreachable.
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
    """A known vulnerability of a pin: its identifiers, and the versions that fix it."""

    pin: Pin
    names: tuple[str, ...]
    fixed_in: tuple[str, ...]


def pins(locks: Collection[Path]) -> dict[Pin, list[Path]]:
    """Every pin with the locks that contain it."""
    by_pin: dict[Pin, list[Path]] = {}
    for lock in sorted(locks):
        for pin in pins_in(lock):
            by_pin.setdefault(pin, []).append(lock)
    return by_pin


def audit(wanted: Collection[Pin]) -> tuple[list[Vulnerability], list[Pin]] | str:
    """(vulnerabilities, pins that PyPI does not know) that pip-audit (on PATH) reports; if it fails, its last line."""
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
    vulnerabilities = [
        Vulnerability(pin, (fault["id"], *fault.get("aliases", ())), tuple(fault.get("fix_versions", ())))
        for pin, one in sorted(known.items())
        for fault in one.get("vulns", ())
    ]
    return vulnerabilities, sorted(pin for pin in wanted if pin not in known)


def _groups(wanted: Collection[Pin]) -> Iterator[list[Pin]]:
    """The pins in the fewest groups without duplicate names: pip-audit reads only one version of a package per file."""
    left: Sequence[Pin] = sorted(wanted)
    while left:
        group = {name: (name, version) for name, version in left}
        yield list(group.values())
        left = [pin for pin in left if pin not in set(group.values())]
