"""Versions of a package as an axis: the services that have it, once with each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench.core.errors import UserError
from bench.matrix.model import BARE, Matrix, Service, python_label
from bench.matrix.packages import LADDER, RELEASE, Locked, Wheel, Wheels, name_with, with_package
from bench.plan.selection import Selection, with_settings

USUAL = ("gunicorn-$WORKER_CLASS", "uvicorn")
"""Servers on which a framework is measured unless the command line names others."""
DEBIAN = "debian"
ALONE = "on this Python no other version of the package can be had to compare it with"


def narrowed(matrix: Matrix, wanted: Selection, settings: Mapping[str, str], locked: Locked) -> Selection:
    """The selection; where it names no services, with one stack that has the package, of each package."""
    chosen = (wanted.preset, wanted.stacks, wanted.frameworks, wanted.servers)
    if wanted.wheels is None or any(chosen):
        return wanted
    stacks = [_stack_with(matrix, name, settings, locked) for name in wanted.wheels.names]
    return replace(wanted, stacks=tuple(dict.fromkeys(stacks)))


def _stack_with(matrix: Matrix, name: str, settings: Mapping[str, str], locked: Locked) -> str:
    """Of the services that have a package: its own server with a bare app, or its own framework on a usual server."""
    pinned = [s for s in matrix.usual if name in locked(s)]
    if not pinned:
        raise UserError(f"--package {name}: no service has it")
    usual = [with_settings(server, settings) for server in USUAL]

    def order(service: Service) -> tuple[bool, ...]:
        server, framework = service.server.name, service.framework.name
        own_framework = framework == name
        return (
            not (server.partition("-")[0] == name or own_framework),
            server != name,
            own_framework and server not in (*usual, name),
            name not in server.split("-"),
            not (own_framework or framework in BARE),
            server not in usual,
        )

    return min(pinned, key=order).stack


def with_versions(matrix: Matrix, services: Sequence[Service], wheels: Wheels, locked: Locked) -> list[Service]:
    """Each service that has one of the packages once with each version of it; the others as they are.

    A version without a wheel is a service that is skipped, with the cause.
    """
    for name in wheels.names:
        if not any(name in locked(service) for service in services if not service.skip):
            others = sorted({s.server.name for s in matrix.usual if name in locked(s)})
            by = f"servers that have it: {', '.join(others)}" if others else "nor has any other of the matrix"
            raise UserError(f"--package {name}: no service of the selection has it; {by}")
    return [found for service in services for found in _versions(matrix, service, wheels, locked)]


def _versions(matrix: Matrix, service: Service, wheels: Wheels, locked: Locked) -> Iterator[Service]:
    pins, label = locked(service), python_label(service.python)
    found = [wheel for name in wheels.names if name in pins for wheel in wheels.of(label, name)]
    working = [wheel for wheel in found if not wheel.cause]
    if not found or (len(found) == len(working) == 1):
        # One version is compared with what the image has without it.
        yield service
    elif len(working) == 1:
        found = [wheel if wheel.cause else replace(wheel, cause=ALONE) for wheel in found]
    if len(found) == 1 and wheels.asked[found[0].asked].kind in (RELEASE, LADDER):
        one = found[0]
        if one.version == pins[one.name]:
            raise UserError(f"--package {one.package}: equal sides: it is the version that the lock pins")
    for wheel in found:
        yield _with(matrix, service, wheel, release=wheels.asked[wheel.asked].kind in (RELEASE, LADDER))


def _with(matrix: Matrix, service: Service, wheel: Wheel, *, release: bool) -> Service:
    if wheel.cause:
        return replace(service, name=name_with(service, wheel.name, wheel.version), skip=wheel.cause)
    if service.base == DEBIAN:
        return with_package(matrix, service, wheel.package, wheel.folder)
    found = with_package(matrix, service, wheel.package)
    return found if release else replace(found, skip="a package from a source is built for Debian's images alone")
