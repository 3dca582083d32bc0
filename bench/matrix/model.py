"""The matrix (services/matrix.toml and the files next to it) as typed values, and the services that result from it.

There is a service for every server and framework that share an interface, on every Python and base. A service with a
`[[skip]]` entry is still listed, with the cause, but never run.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from msgspec import Meta

from bench.core.errors import unknown
from bench.core.exchange import Exchange, Wait, WaitsFor
from bench.core.service_settings import NO_SETTINGS, Settings
from bench.tools.levels import Level

NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
BARE = ("wsgi", "asgi", "rsgi")
"""The apps without a framework, each named after its interface."""
Count = Annotated[int, Meta(ge=1, lt=10_000)]
Seconds = Annotated[float, Meta(ge=0, lt=1e6)]
PYTHON = re.compile(r"(pypy)?(3\.\d{1,2})\Z")


@dataclass(frozen=True, slots=True)
class Base:
    """A kind of base image: the suffix of its tag, its Dockerfile, and the setting that overrides its image's name."""

    tag: str
    dockerfile: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class Python:
    """A Python; `suite`: the Debian release from which its base can be built locally; `released`: its first day."""

    suite: str | None = None
    released: str = ""


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages for the base's package manager: needed to build from source, and to run."""

    build: tuple[str, ...] = ()
    run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a server, from its documentation and that of frameworks; CONTRIBUTING.md says what each is."""

    default: str
    source: str
    documented: str = ""
    command: str = ""
    adds: str = ""
    sets: str = ""
    lacks: str = ""
    stall: str = ""
    stall_of_several: str = ""
    deflate: str = ""


@dataclass(frozen=True, slots=True)
class Reload:
    """The signal to a server's main process that makes it serve new code without a stop; empty: it has none.

    `says` is what its documentation says about that, `source` where.
    """

    says: str
    source: str
    signal: str = ""


DefaultKind = Literal["graceful", "timeout", "keepalive", "backlog", "silent", "respawn"]
"""A default that matters in events (CONTRIBUTING.md says how); in capitals, the name of the knob that sets it."""


@dataclass(frozen=True, slots=True)
class Default:
    """What a server does without a flag: `value`, according to `source`."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server. `style` (sync or async) decides which drivers its apps use; `model` describes its worker model.

    `concurrent`: one worker can answer a second request while the first one waits.
    """

    name: str
    serves: tuple[str, ...]
    style: str
    concurrent: bool
    packages: Mapping[str, Packages]
    model: str
    reads: tuple[str, ...] = ()
    """Globs of environment variables that its program reads besides those in its `start`."""
    development: str | None = None
    """The quote from its documentation, if that says that it is not meant for production."""
    variant_of: str = ""
    """The server that this one is, started in another way that its documentation names for some uses."""
    notes: Notes | None = None
    reload: Reload | None = None
    defaults: Mapping[DefaultKind, Default] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnBuild:
    """How a user's own app gets into an image: the folder `source`, on top of the server's image with the app `bare`.

    `label` is part of the image's name, so that apps with the same name have different images.
    """

    bare: str
    label: str
    source: str
    lock_suffix: str = ""
    """The suffix of the folder with its locks, if a run has two such folders."""
    apt: str = ""
    """The Debian packages that it is built and run with, separated by spaces."""


@dataclass(frozen=True, slots=True)
class ThreadPool:
    """The thread pool in which an async framework runs plain functions; `path` is such a route, which waits {n} ms.

    `says` is what its documentation says about them, `source` where.
    """

    threads: Count
    path: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework. `lacks` maps routes that it does not offer (`*`: all but the basic ones) to the reason.

    `offers` names exceptions to a `*` in `lacks`.
    """

    name: str
    interfaces: tuple[str, ...]
    lacks: Mapping[str, str] = field(default_factory=dict)
    offers: tuple[str, ...] = ()
    pool: ThreadPool | None = None
    selftest: bool = False
    app: str | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Environment variables of its app; None: the value comes from the environment that starts the container."""
    own: OwnBuild | None = None
    """Set only for a user's own app, which is not part of the matrix."""

    @property
    def folder(self) -> str:
        """The folder of its app, which variants share."""
        return self.own.bare if self.own else self.app or self.name


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the contract; `{n}` in `scenario` and in the path stands for the scenario's number.

    - `database`: the response needs PostgreSQL.
    - `waits`: the server waits for something, so goodput ranks it, not CPU.
    - `wait`: what every response waits for. The number in the scenario is the milliseconds of a timer or an upstream.
    """

    name: str
    scenario: str
    exchange: Exchange
    """In the file, its fields stand among those of the route."""
    selftest: bool = False
    basic: bool = False
    database: bool = False
    waits: bool = False
    wait: WaitsFor | None = None
    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    """What each of its scenarios sends, if it has several; `scenario` and `exchange` are then those of the first."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Its scenarios; `{n}` stands for any number."""
        return tuple(self.exchanges) or (self.scenario,)

    def exchange_of(self, scenario: str) -> Exchange | None:
        """What is sent in `scenario` if it belongs to this route, else None."""
        if self.exchanges:
            return self.exchanges.get(scenario)
        match = re.fullmatch(re.escape(self.scenario).replace(r"\{n\}", r"(\d{1,5})"), scenario)
        if not match:
            return None
        number = match[1] if match.groups() else ""
        ms = 0 if self.wait is WaitsFor.DATABASE else int(number or 0)
        # A timer of 0 ms is none.
        wait = Wait(self.wait, ms) if self.wait and (ms or self.wait is not WaitsFor.TIMER) else None
        return replace(self.exchange, path=self.exchange.path.replace("{n}", number), wait=wait)


@dataclass(frozen=True, slots=True)
class Service:
    """Stack x Python x base (x version of a package, if versions are compared)."""

    name: str
    stack: str
    server: Server
    framework: Framework
    python: str
    base: str
    package: str | None = None
    """The package in another version, as NAME==VERSION; after blanks those that --with changes together with it."""
    skip: str | None = None
    settings: Settings = NO_SETTINGS
    plain: str | None = None
    """The name of the service without these settings, whose image it runs."""
    context: str = ""
    """The folder that its image is built from; empty: this project's services/."""
    url: str = ""
    """For a server that already runs, which is not a container: its URL."""
    wheel: str = ""
    """The folder with the wheels of `package` that were made for the run; empty: its image has a locked release."""
    owned: bool = False
    """Whether it runs on another machine and the user states to own it."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Routes that this combination cannot serve, with the cause (a `[[skip]]` with a route)."""
    threads: str = ""
    """THREADS for its server, if it reads the knob and no setting has it; empty: the default in its `start`."""

    @classmethod
    def foreign(cls, name: str, kind: str, model: str = "", *, url: str = "", owned: bool = False) -> Service:
        """A service of a plan that is not in the matrix; `kind` stands for its interface, Python and base."""
        server = Server(name, (kind,), kind, concurrent=True, packages={}, model=model)
        return cls(name, name, server, Framework(name, (kind,)), kind, kind, url=url, owned=owned)

    def reached_by(self, exchange: Exchange) -> Exchange:
        """The exchange with this service: the URL of a server that already runs says whether it is encrypted."""
        return replace(exchange, protocol="https") if self.url.startswith("https:") else exchange

    def takes_turns(self, exchange: Exchange, *, quiet: bool) -> bool:
        """Whether it may take turns with others; one that is not `quiet` between them has to be frozen.

        Requests in flight are only detected on IPv4, and where all that a server sends are responses: with TLS, it also
        sends its part of the handshake, and tickets for the next one.
        """
        stopped = quiet or not self.url
        return stopped and not (exchange.encrypted or "[" in self.url)

    @property
    def built_as(self) -> str:
        """The name of the service that its image is built for."""
        return self.plain or self.name

    @property
    def image(self) -> str:
        """The name of its image."""
        own = self.framework.own
        return f"bench/own-{own.label}-{self.built_as}" if own else f"bench/{self.built_as}"

    @property
    def concurrent(self) -> bool:
        """Whether one worker can answer a second request while the first one waits; a single thread cannot."""
        one_thread = self.server.style == "sync" and self.settings.get("THREADS") == "1"
        return self.server.concurrent and not one_thread

    @property
    def interface(self) -> str:
        """The first of the framework's interfaces that the server serves."""
        return next(name for name in self.framework.interfaces if name in self.server.serves)

    def lacking(self, route: Route) -> str | None:
        """Why this service does not offer `route`; None if it does."""
        name, lacks = self.framework.name, self.framework.lacks
        if route.selftest:
            return None if self.framework.selftest else f"{name}: only self-test apps have it"
        offered = route.basic or route.name in self.framework.offers
        if why := lacks.get(route.name) or (None if offered else lacks.get("*")):
            return f"{name}: {why}"
        # A user's own app may have a route of that name, which is another.
        return None if self.framework.own else self.lacks.get(route.name)


@dataclass(frozen=True, slots=True)
class Skip:
    """Services that are not run: their name matches the glob `service`, and their server has the style, if given.

    With a `route`, they only do not serve that.
    """

    service: str
    cause: str
    style: str | None = None
    route: str | None = None

    def holds(self, name: str, server: Server) -> bool:
        """Whether it applies to the service with this name and server."""
        return self.style in (None, server.style) and fnmatch.fnmatchcase(name, self.service)


def python_label(python: str) -> str:
    """A Python as a part of names: `py313`, `pypy311`."""
    return ("" if python.startswith("pypy") else "py") + python.replace(".", "")


def python_image(python: str) -> tuple[str, str]:
    """(official image, version) of a Python: ("python", "3.13"), ("pypy", "3.11"); ValueError for anything else."""
    match = PYTHON.match(python)
    if not match:
        raise ValueError(f"Python '{python}' must be 3.X or pypy3.X")
    return match[1] or "python", match[2]


def suffix(python: str, base: str) -> str:
    """The suffix of a service's name: `py313-debian`."""
    return f"{python_label(python)}-{base}"


def stack_name(server: str, framework: str) -> str:
    """`gunicorn-sync-flask`; only one name if server and framework have the same."""
    return server if server == framework else f"{server}-{framework}"


@dataclass(frozen=True, slots=True)
class Load:
    """A group of cells: every scenario x tool x level, on `stacks` (empty: the preset's).

    `alone`: its services are measured one by one (solo), whatever the preset's mode.
    """

    scenarios: tuple[str, ...]
    tools: tuple[str, ...]
    levels: tuple[Level, ...]
    stacks: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Preset:
    """A named selection of cells; durations in seconds."""

    name: str
    title: str
    loads: tuple[Load, ...]
    rounds: Count
    duration: Seconds
    warmup: Seconds
    timeout: Seconds
    pythons: tuple[str, ...]
    bases: tuple[str, ...]
    stacks: tuple[str, ...] = ()
    workers: Count | None = None
    packages: tuple[str, ...] = ()
    published: str | None = None
    keepalive: bool = True
    mode: str = "turns"
    turn_rounds: Count | None = None
    """The most rounds of its tables; None: the last interim look."""
    turn_seconds: Seconds | None = None
    """Seconds of load for each service in a window of a table; None: the setting TURN_SECONDS."""
    rate_seconds: Seconds | None = None
    """Seconds of load for each service at a common rate in a round; None: `bench.plan.cells.RATE_SECONDS`."""
    vary: tuple[str, ...] = ()
    """Knobs with their values (`WORKERS=1,2,4`): each service is measured with every combination."""
    vary_if_read: tuple[str, ...] = ()
    """Like `vary`, for knobs that only some of its services read: the others are measured without them."""
    events: tuple[str, ...] = ()
    """Events (bench/events), which replace its loads; the name of a preset stands for that preset's events."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The tables of all files as typed values."""

    bases: Mapping[str, Base]
    pythons: Mapping[str, Python]
    servers: Mapping[str, Server]
    frameworks: Mapping[str, Framework]
    routes: Mapping[str, Route]
    presets: Mapping[str, Preset]
    skips: tuple[Skip, ...]
    default_python: str
    default_base: str
    selftests: Mapping[str, Framework] = field(default_factory=dict)
    """Apps with known behaviour. Only exact names select them: no glob, table or count includes them."""
    services: tuple[Service, ...] = field(default=(), repr=False)
    """Every service, including skipped ones, in a stable order."""

    @property
    def usual(self) -> list[Service]:
        """The services on the default Python and base that are not skipped."""
        place = (self.default_python, self.default_base)
        return [s for s in self.services if (s.python, s.base) == place and not s.skip]

    @property
    def stacks(self) -> list[str]:
        """The names of the stacks, in a stable order."""
        return list(dict.fromkeys(s.stack for s in self.services))

    @property
    def own_app(self) -> bool:
        """Whether it has a user's own app."""
        return any(framework.own for framework in self.frameworks.values())

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
        return replace(self, frameworks=frameworks, services=(*self.services, *chosen)) if chosen else self

    def with_own_app(self, app: Framework, routes: Mapping[str, Route], preset: Preset) -> Matrix:
        """The matrix with a user's own app on every server that can host it; `preset` is the default preset."""
        added = replace(self, frameworks={app.name: app})
        services = legal_services(added, self.pythons, [self.default_base])
        return replace(
            self,
            frameworks={**self.frameworks, app.name: app},
            routes={**self.routes, **routes},
            presets={**self.presets, "all": preset},
            services=(*self.services, *services),
        )

    def route_of(self, scenario: str) -> tuple[Route, Exchange]:
        """The route of a scenario, and what is sent; UserError if it is unknown."""
        for route in self.routes.values():
            if exchange := route.exchange_of(scenario):
                return route, exchange
        number = re.search(r"\d+", scenario)
        offered = (name for route in self.routes.values() if not route.selftest for name in route.scenarios)
        names = (name.replace("{n}", number[0] if number else "N") for name in offered)
        raise unknown("scenario", scenario, names)

    def skip_cause(self, name: str, server: Server) -> str | None:
        """Why the service with this name is not run; None if it is."""
        return next((skip.cause for skip in self.skips if not skip.route and skip.holds(name, server)), None)

    def suite(self, python: str, base: str) -> str | None:
        """The Debian release from which a Python's base can be built locally; None if there is none."""
        return self.pythons[python].suite if base == "debian" else None

    def hosted(self, server: str, python: str) -> list[str]:
        """The frameworks with which a server has services on a Python."""
        here = (s for s in self.services if (s.server.name, s.python) == (server, python) and not s.skip)
        return sorted({s.framework.name for s in here})

    def base_image(self, service: Service, settings: Mapping[str, str]) -> str:
        """The name of the image that a service is built from."""
        image, version = python_image(service.python)
        base = self.bases[service.base]
        prefix = settings.get(base.image) or settings[f"{image.upper()}_IMAGE"]
        return f"{prefix}:{version}-{base.tag}"


def legal_services(matrix: Matrix, pythons: Iterable[str], bases: Iterable[str]) -> Iterator[Service]:
    """Every server x framework that share an interface, on these Pythons and bases, including skipped ones."""
    pythons, bases = list(pythons), list(bases)
    for server, framework in itertools.product(matrix.servers.values(), matrix.frameworks.values()):
        if not set(framework.interfaces) & set(server.serves):
            continue
        stack = stack_name(server.name, framework.name)
        for python, base in itertools.product(pythons, bases):
            name = f"{stack}-{suffix(python, base)}"
            lacks = {skip.route: skip.cause for skip in matrix.skips if skip.route and skip.holds(name, server)}
            cause = matrix.skip_cause(name, server)
            yield Service(name, stack, server, framework, python, base, None, cause, lacks=lacks)


def select(patterns: Iterable[str], names: Iterable[str], what: str) -> list[str]:
    """The names that match any glob, in the order of `names`; UserError for a glob that matches none."""
    names = list(names)
    chosen: set[str] = set()
    for pattern in patterns:
        hits = fnmatch.filter(names, pattern)
        if not hits:
            raise unknown(what, pattern, names)
        chosen.update(hits)
    return [name for name in names if name in chosen]
