"""What is sent to a service, again and again. It is carried unopened from services/matrix.toml to the load tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta

SCHEMES: Mapping[str, str] = MappingProxyType({"http/1.1": "http", "https": "https", "ws": "ws"})
"""The scheme of the URL by protocol."""
SWITCHED = 101
"""The status of a response after which the connection is no longer one of HTTP."""


class WaitsFor(Enum):
    """The kinds of waits."""

    TIMER = "timer"
    UPSTREAM = "upstream"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Wait:
    """`ms`: how long a timer or an upstream takes at least; 0 if the scenario does not say."""

    on: WaitsFor
    ms: Annotated[int, Meta(ge=0, lt=10**6)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What is sent, and what counts as the response to it.

    `kind`: what depends on it is in bench/exchange/KIND/, which only its `kind_of` opens.
    """

    kind: str = "http"
    protocol: str = "http/1.1"
    method: str = "GET"
    path: str = "/"
    """With its query."""
    body: str | None = None
    targets: Annotated[int, Meta(ge=0, lt=10**9)] = 0
    """How many requests of a user's own app it stands for (files of the run; method and path are the first one's);
    0: it is one of the contract's."""
    redirects: tuple[Annotated[int, Meta(ge=300, lt=400)], ...] = ()
    """The statuses of redirects that are right responses (--expect)."""
    size: Annotated[int, Meta(ge=0, lt=10**9)] = 0
    """Bytes of a message."""
    deflate: bool = False
    """Whether the client offers to compress messages."""
    events: Annotated[int, Meta(ge=0, lt=10**6)] = 0
    """Events of a stream."""
    gap_ms: Annotated[int, Meta(ge=0, lt=10**6)] = 0
    """How long after an event the next one is due; 0: at once."""
    wait: Wait | None = field(default=None, compare=False)
    """What every response waits for. plan.jsonl does not have it: run.json does, by scenario."""

    @property
    def encrypted(self) -> bool:
        """Whether connections begin with a handshake of TLS."""
        return SCHEMES[self.protocol] == "https"

    @property
    def paced_s(self) -> float:
        """How long it lasts at a pace of its own, which a service that is stopped meanwhile could not keep; or 0."""
        return self.events * self.gap_ms / 1000

    def url(self, at: str) -> str:
        """Its URL on the server at HOST:PORT."""
        return f"{SCHEMES[self.protocol]}://{at}{self.path}"

    def is_good(self, status: int) -> bool:
        """Whether it is the status of a right response: 2xx, a redirect that is expected, or a switch to its protocol."""
        switched = status == SWITCHED and not SCHEMES[self.protocol].startswith("http")
        return status // 100 == 2 or status in self.redirects or switched


GET = Exchange()
