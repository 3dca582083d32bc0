"""Services with one package at another version: their names, and which services have a package at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.model import Matrix
from bench.matrix.service import Service, python_label, suffix

PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.!+]*)\Z")
"""A package at a version, as records have it. What is built from a source has a local version: `0.54.0+g1a2b3c4`."""
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
LOCKS = Path("services/locks")

Locked = Callable[[Service], Mapping[str, str]]
"""The versions that a service's locks pin, by normalised name."""


def normalised(name: str) -> str:
    """A package's name as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def with_package(matrix: Matrix, service: Service, package: str, wheel: str = "") -> Service:
    """`service` with one package at another version, and a name that says so; UserError if not NAME==VERSION.

    `wheel` is the folder of the package's wheel in the run; without one, the image's build gets the release.
    """
    found = PACKAGE.match(package)
    if not found:
        raise UserError(f"package '{package}' is not NAME==VERSION")
    full = name_with(service, found[1], found[2])
    cause = service.skip or matrix.skip_cause(full, service.server)
    return replace(service, name=full, package=package, wheel=wheel, skip=cause)


def name_with(service: Service, package: str, version: str) -> str:
    """The service's name with another version of a package in it: `uvicorn-asgi-0-53-0-py313-debian`."""
    name, label = package.lower(), re.sub(r"[^a-z0-9]+", "-", version.lower()).strip("-")
    # What is named after the package needs no second name of it: `gunicorn-sync-wsgi-23-0-0-py313-debian`.
    if name not in (service.framework.name, service.server.name, service.server.name.partition("-")[0]):
        label = f"{name}-{label}"
    return f"{service.stack}-{label}-{suffix(service.python, service.base)}"


def locked(root: Path = LOCKS) -> Locked:
    """Answers what a service's image has, from the locks below `root`; nothing of a user's own app."""

    @cache
    def pins(file: Path) -> Mapping[str, str]:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        return {normalised(pin[1]): pin[2] for line in lines if (pin := PIN.match(line))}

    def of(service: Service) -> Mapping[str, str]:
        names = (
            f"common-{service.server.style}",
            f"framework-{service.framework.folder}",
            f"server-{service.server.name}",
        )
        found: dict[str, str] = {}
        for name in names:
            found |= pins(root / python_label(service.python) / f"{name}.txt")
        return found

    return of
