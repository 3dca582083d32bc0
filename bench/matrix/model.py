"""services/matrix.toml as typed values, and the services that follow from it.

There is a service for every server x framework that share an interface, on every Python and base; a `[[skip]]` entry
keeps it listed, with the cause why it is not run.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from bench.core.errors import unknown
from bench.matrix.preset import Preset
from bench.matrix.service import Framework, Route, Server, Service, Skip, python_image, stack_name, suffix


@dataclass(frozen=True, slots=True)
class Matrix:
    """All of services/matrix.toml."""

    bases: Mapping[str, Mapping[str, str]]
    pythons: Mapping[str, Mapping[str, str]]
    servers: Mapping[str, Server]
    frameworks: Mapping[str, Framework]
    routes: Mapping[str, Route]
    presets: Mapping[str, Preset]
    skips: tuple[Skip, ...]
    default_python: str
    default_base: str
    selftests: Mapping[str, Framework] = field(default_factory=dict)
    """Apps of known behaviour. Only their exact names select them: no glob, table or count includes them."""
    _services: tuple[Service, ...] = field(default=(), repr=False)

    @property
    def services(self) -> tuple[Service, ...]:
        """Every service, skipped ones included, in a stable order."""
        return self._services

    @property
    def usual(self) -> list[Service]:
        """Those that run on the default Python and base."""
        place = (self.default_python, self.default_base)
        return [s for s in self._services if (s.python, s.base) == place and not s.skip]

    @property
    def stacks(self) -> list[str]:
        """The names of the stacks, in a stable order."""
        return list(dict.fromkeys(s.stack for s in self._services))

    def with_selftests(self, names: Iterable[str]) -> Matrix:
        """The matrix with the self-test services whose name, stack or framework is in `names`."""
        exact = set(names)
        added = replace(self, frameworks=self.selftests)
        chosen = [
            s
            for s in legal_services(added, [self.default_python], [self.default_base])
            if exact & {s.name, s.stack, s.framework.name}
        ]
        frameworks = {**self.frameworks, **{s.framework.name: s.framework for s in chosen}}
        return replace(self, frameworks=frameworks, _services=(*self._services, *chosen)) if chosen else self

    def with_own_app(self, app: Framework, routes: Mapping[str, Route], preset: Preset) -> Matrix:
        """The matrix with a user's own app on every server that hosts it; a selection without a preset is `preset`."""
        added = replace(self, frameworks={app.name: app})
        services = legal_services(added, self.pythons, [self.default_base])
        return replace(
            self,
            frameworks={**self.frameworks, app.name: app},
            routes={**self.routes, **routes},
            presets={**self.presets, "all": preset},
            _services=(*self._services, *services),
        )

    def route_of(self, scenario: str) -> tuple[Route, str]:
        """(route, path) of a scenario; UserError where there is none of this name."""
        for route in self.routes.values():
            path = route.match(scenario)
            if path is not None:
                return route, path
        raise unknown("scenario", scenario, [r.scenario for r in self.routes.values() if not r.selftest])

    def skip_cause(self, name: str, server: Server) -> str | None:
        """Why the service of this name is not run; None if it is."""
        return next((skip.cause for skip in self.skips if skip.holds(name, server)), None)

    def suite(self, python: str, base: str) -> str | None:
        """The Debian release from which a Python's base can be built locally; None where there is none."""
        return self.pythons[python].get("suite") if base == "debian" else None

    def hosted(self, server: str, python: str) -> list[str]:
        """The frameworks that a server has services with on a Python."""
        here = (s for s in self.services if (s.server.name, s.python) == (server, python) and not s.skip)
        return sorted({s.framework.name for s in here})

    def base_image(self, service: Service, settings: Mapping[str, str]) -> str:
        """The name of the image that a service is built from."""
        image, version = python_image(service.python)
        base = self.bases[service.base]
        prefix = settings.get(base.get("image", "")) or settings[f"{image.upper()}_IMAGE"]
        return f"{prefix}:{version}-{base['tag']}"

    def select(self, patterns: Iterable[str], names: Iterable[str], what: str) -> list[str]:
        """The names that any glob matches, in the order of `names`; UserError for a glob that matches none."""
        names = list(names)
        chosen: set[str] = set()
        for pattern in patterns:
            hits = fnmatch.filter(names, pattern)
            if not hits:
                raise unknown(what, pattern, names)
            chosen.update(hits)
        return [name for name in names if name in chosen]


def legal_services(matrix: Matrix, pythons: Iterable[str], bases: Iterable[str]) -> Iterator[Service]:
    """Every server x framework that share an interface, on these Pythons and bases; skipped ones with their cause."""
    pythons, bases = list(pythons), list(bases)
    for server, framework in itertools.product(matrix.servers.values(), matrix.frameworks.values()):
        if not set(framework.interfaces) & set(server.serves):
            continue
        stack = stack_name(server.name, framework.name)
        for python, base in itertools.product(pythons, bases):
            name = f"{stack}-{suffix(python, base)}"
            yield Service(name, stack, server, framework, python, base, None, matrix.skip_cause(name, server))
