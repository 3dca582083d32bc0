"""The kinds of exchanges. A new one is a folder here, its line in `KINDS`, and a tool that speaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from bench.core.exchange import GET, Exchange
from bench.exchange import http, sse, websocket
from bench.exchange.kind import Kind

if TYPE_CHECKING:
    from bench.contract.checks import Check

KINDS: Mapping[str, Kind] = MappingProxyType({"http": http, "websocket": websocket, "sse": sse})


def kind_of(exchange: Exchange) -> Kind:
    """What depends on the kind of this exchange."""
    return KINDS[exchange.kind]


def checks() -> Sequence[Check]:
    """The checks of the routes of all kinds."""
    from bench.contract.checks import CHECKS  # only `verify` needs an HTTP client

    for kind in KINDS.values():
        import_module(kind.checks)
    return CHECKS


USUAL = kind_of(GET)


def unusual_kinds(exchanges: Iterable[tuple[str, Exchange]]) -> dict[str, str]:
    """The kind of each scenario that is not of the usual one, for run.json."""
    return {scenario: exchange.kind for scenario, exchange in exchanges if kind_of(exchange) is not USUAL}
