"""The versions that the locks of a service name: what its image has when it is built from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.matrix.service import Service, python_image, python_label

LOCKS = Path("services/locks")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pins:
    """The version of each package, by normalised name; `whole`: there are no other packages."""

    versions: Mapping[str, str]
    whole: bool


def normalised(name: str) -> str:
    """A package's name as PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def pins_of(service: Service, own_locks: Path | None = None, root: Path = LOCKS) -> Pins:
    """The pins of a service; `own_locks` has the locks of a user's own app. They come in the order of installation."""
    label = python_label(service.python)
    names = [f"common-{service.server.style}", f"framework-{service.framework.folder}", f"server-{service.server.name}"]
    # PyPy has packages of its own, and locks with markers.
    whole = python_image(service.python)[0] != "pypy"
    paths = [root / label / f"{name}.txt" for name in names]
    found: dict[str, str] = {}
    if service.package:
        path = root / label / f"package-{service.package}.txt"
        whole &= path.exists()
        paths.append(path)
    if own_locks:
        paths.append(own_locks / label / "requirements.txt")
    for path in paths:
        found |= _read(path)
    if service.package and service.package.count("==") == 1:
        name, version = service.package.split("==")
        found[normalised(name)] = version
    return Pins(found, whole)


def _read(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {normalised(name): version for name, version in _PIN.findall(text)}
