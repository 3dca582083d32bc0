"""The service that is checked, with the verifier's own view of what it depends on."""

from dataclasses import dataclass, field
from datetime import datetime

from bench.contract.client import Answer, Client
from bench.contract.clock import Clock
from bench.contract.dependencies import Database, Upstream
from bench.contract.routes import request_of


@dataclass(slots=True)
class Target:
    """One service; `concurrent` says whether it claims to serve requests concurrently (None: no claim to check).

    `template` is the text of the file that its fortunes are rendered from, empty if it has none (None: not checked).
    """

    client: Client
    database: Database | None = None
    upstream: Upstream | None = None
    concurrent: bool | None = None
    template: str | None = None
    first: Answer | None = field(default=None, init=False)
    first_at_ns: int = field(default=0, init=False)
    first_date: datetime | None = field(default=None, init=False)

    def ask_first(self, route: str) -> None:
        """A first request, whatever its answer; raises `NoAnswer` where none comes."""
        self.first = self.client.ask(request_of(route))
        self.first_at_ns, self.first_date = self.clock.monotonic_ns(), self.clock.now()

    def clock_was_set(self) -> bool:
        """Whether somebody has set the time of day since the first answer."""
        if self.first_date is None:
            return False
        passed = (self.clock.monotonic_ns() - self.first_at_ns) / 1e9
        return abs((self.clock.now() - self.first_date).total_seconds() - passed) > 1

    @property
    def clock(self) -> Clock:
        """The clock that the client's times are from."""
        return self.client.clock

    @property
    def tables(self) -> Database:
        """The database, which a target has if one of its routes needs it."""
        assert self.database is not None
        return self.database

    @property
    def external(self) -> Upstream:
        """Upstream's control port, which a target has if one of its routes needs it."""
        assert self.upstream is not None
        return self.upstream
