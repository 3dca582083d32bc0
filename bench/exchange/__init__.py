"""The kinds of exchanges. A new one is a folder here, its name in `KINDS`, and a tool that speaks it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from bench.core.exchange import GET, Exchange
from bench.exchange.kind import Kind

if TYPE_CHECKING:
    from bench.contract.checks import Check

KINDS = ("http", "websocket", "sse")


def kind_named(name: str) -> Kind:
    """The kind in the folder of this name, which is only loaded when it is asked for; KeyError if there is none."""
    if name not in KINDS:
        raise KeyError(name)
    return cast(Kind, import_module(f"bench.exchange.{name}"))


def kind_of(exchange: Exchange) -> Kind:
    """What depends on the kind of this exchange."""
    return kind_named(exchange.kind)


def checks() -> Sequence[Check]:
    """The checks of the routes of all kinds."""
    from bench.contract.checks import CHECKS  # only `verify` needs an HTTP client

    for name in KINDS:
        import_module(kind_named(name).checks)
    return CHECKS


USUAL = kind_of(GET)


def unusual_kinds(exchanges: Iterable[tuple[str, Exchange]]) -> dict[str, str]:
    """The kind of each scenario that is not of the usual one, for run.json."""
    return {scenario: exchange.kind for scenario, exchange in exchanges if kind_of(exchange) is not USUAL}
