"""What `--package` was given, as wheels that were made for a run: one for each version and each Python.

scripts/lib/packages.sh has them made; packages.json beside the wheels says what each of them is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file

FILE = "packages.json"
FOLDER = "packages"
"""Of a run: the wheels and `FILE`."""
RELEASE, LADDER, COMMIT = "release", "ladder", "commit"
"""Kinds of what was asked for: a release, several of them; else wheel, sdist, folder or commit of a repository."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One `--package`: its words, and of a source the commit; `changed`: with changes that are not committed."""

    spec: str
    kind: str
    commit: str = ""
    changed: bool = False

    @property
    def words(self) -> str:
        """Where it is from."""
        if self.kind in (RELEASE, LADDER):
            return "the release, from the package index"
        if self.kind == COMMIT:
            return f"commit {self.commit[:12]} ({self.spec})"
        at = f", commit {self.commit[:12]}" if self.commit else ""
        return f"{self.kind} {self.spec}{at}{', with uncommitted changes' if self.changed else ''}"


@dataclass(frozen=True, slots=True)
class Wheel:
    """One version of a package for one Python: its wheel, or the cause why there is none.

    `package` is NAME==VERSION as records have it: the version of a source has its commit or its content added.
    `content` is the digest of the wheel's files, which says more than that of the wheel: builds differ in times.
    """

    asked: int
    name: str
    version: str
    package: str = ""
    folder: str = ""
    sha256: str = ""
    content: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Wheels:
    """All of a run's: what was asked for, and the versions for each Python's label, in that order."""

    asked: tuple[Asked, ...]
    made: Mapping[str, tuple[Wheel, ...]]

    def of(self, label: str, name: str) -> tuple[Wheel, ...]:
        """Those of one package on a Python."""
        return tuple(one for one in self.made.get(label, ()) if one.name == name)

    @property
    def names(self) -> list[str]:
        """The packages, in the order of the command line."""
        return list(dict.fromkeys(one.name for made in self.made.values() for one in made))

    def facts(self) -> list[dict[str, Any]]:
        """run.json's entries: each wheel with where it is from."""
        return [
            asdict(one) | {"asked": self.asked[one.asked].spec, "from": self.asked[one.asked].words, "python": label}
            for label, made in self.made.items()
            for one in made
        ]


def write_wheels(folder: Path, wheels: Wheels) -> None:
    """Write packages.json."""
    write_file(folder / FILE, json.dumps({"schema": 1} | asdict(wheels), indent=1, ensure_ascii=False) + "\n")


def read_wheels(folder: Path) -> Wheels:
    """The wheels of a folder; UserError where packages.json does not describe any."""
    try:
        value = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if value["schema"] != 1:
            raise ValueError("another schema")
        made = {label: tuple(Wheel(**one) for one in wheels) for label, wheels in value["made"].items()}
        return Wheels(tuple(Asked(**one) for one in value["asked"]), made)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder / FILE} does not describe packages: {error}") from error
