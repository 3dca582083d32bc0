"""Whether a service's sockets have the options of its server's own bind, but for what is written down with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.contract.outcomes import Outcome
from bench.matrix.listeners import OwnBind

CHECK = "Listener and connection have the options of the server's own bind"
ROUTE = "sockets"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that was not made, and the reason."""

    check: str
    reason: str

    def line(self) -> str:
        """The skip as it is printed."""
        return f"skip - {self.check}: {self.reason}"


def compare(read: Mapping[str, object], own: OwnBind | None, settings: Mapping[str, str]) -> Outcome | Skipped:
    """The outcome for what the verb `sockets` has read of a service; `own` is None where none is written down."""
    if own is None:
        return Skipped(ROUTE, "its server's own bind is not in services/listeners.toml")
    if "unreadable" in read:
        return Skipped(ROUTE, str(read["unreadable"]))
    options = read.get("options")
    if not isinstance(options, Mapping):
        return _failed("a listener and a connection", str(read.get("fault")))
    wanted = own.wanted(settings)
    differing = [name for name in wanted if options.get(name) != wanted[name]]
    if differing:
        return _failed(_listed(wanted, differing), _listed(options, differing))
    return Outcome(ROUTE, CHECK, True, None, None, 0.0)


def _failed(expected: str, got: str) -> Outcome:
    return Outcome(ROUTE, CHECK, False, expected, got, 0.0)


def _listed(options: Mapping[str, object], names: list[str]) -> str:
    return ", ".join(f"{name} {options.get(name)}" for name in names)
