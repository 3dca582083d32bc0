"""A user's Compose file as part of a run: what is refused, and its services as the run starts them.

The input is the output of `docker compose config --format json`, with anchors, extends and variables resolved, from
which `driver.planning.compose_file` has chosen services, and whose paths it has followed and checked. The services join
only the internal network, under their own names; their Compose names are `own-NAME`, and images that are built get
names of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.core.errors import UserError
from bench.core.tables import table_beside
from driver.messages import FAULTS

PREFIX = "own-"


@dataclass(frozen=True, slots=True)
class Rules:
    """What compose_file.toml says."""

    ours: tuple[str, ...]
    kept: frozenset[str]
    replaced: frozenset[str]
    build: frozenset[str]
    refused: Mapping[str, str]
    hardened: Mapping[str, Any]


@cache
def rules() -> Rules:
    """What a service of a user's Compose file may have."""
    return table_beside(__file__, Rules)


def own_services(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The Compose file with the user's services for a run; UserError with all that is refused."""
    if not (services := resolved.get("services") or {}):
        raise UserError("--compose: the file has no services")
    faults = [*resolved.get(FAULTS, ())]
    for name, service in services.items():
        if name in rules().ours:
            faults.append(f"the name '{name}' is taken by the benchmark")
        faults += [f"service '{name}' {fault}" for fault in _faults(service)]
    for kind in ("secrets", "configs", "volumes"):
        for name, entry in (resolved.get(kind) or {}).items():
            faults += [f"the {kind[:-1]} '{name}' {fault}" for fault in _shared_faults(entry or {})]
    if faults:
        to_name = "name the services that the app needs: --compose FILE:NAME,NAME"
        raise UserError(f"--compose: {'; '.join(faults)}; remove that, or {to_name}")
    compose: dict[str, Any] = {"services": {PREFIX + name: _hardened(name, one) for name, one in services.items()}}
    for kind in ("secrets", "configs", "volumes"):
        if resolved.get(kind):
            # Without fixed names, so that two runs never share a volume.
            given = {name: entry or {} for name, entry in resolved[kind].items()}
            compose[kind] = {name: {k: v for k, v in entry.items() if k != "name"} for name, entry in given.items()}
    return compose


def left_out(resolved: Mapping[str, Any]) -> list[str]:
    """`SERVICE.KEY` of everything that is harmless but not supported, and ignored."""
    handled = rules().kept | rules().replaced
    services = resolved.get("services") or {}
    given = [(name, key) for name, service in services.items() for key, value in service.items() if value]
    return [f"{name}.{key}" for name, key in given if key not in handled]


def _faults(service: Mapping[str, Any]) -> Iterator[str]:
    for key, what in rules().refused.items():
        if service.get(key):
            yield f"{what} ({key})"
    for option in service.get("security_opt") or ():
        if "unconfined" in option or "disable" in option or option.endswith("false"):
            yield f"weakens its confinement ({option})"
    for other, rule in (service.get("depends_on") or {}).items():
        if (rule or {}).get("condition") == "service_completed_successfully":
            yield f"waits for {other} to end, which is not supported (give the command of {other} with --before)"
    build = service.get("build") or {}
    for key, value in build.items():
        if value and key not in rules().build:
            yield f"asks for more than a build needs (build.{key})"
    for volume in service.get("volumes") or ():
        if volume.get("type") not in ("bind", "volume", "tmpfs"):
            yield f"mounts a {volume.get('type')}"


def _shared_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry.get("external"):
        yield "is one of the host's own (external)"
    if entry.get("driver_opts") or entry.get("driver") not in (None, "", "local"):
        yield "has a driver of its own, which may mount anything"
    if entry.get("environment"):
        yield "takes a variable of the shell"


def _with_values(variables: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (variables or {}).items() if value is not None}


def _hardened(name: str, service: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in service.items() if key in rules().kept and value not in (None, "", [], {})}
    # A variable without a value would take that of the shell which starts the run.
    kept["environment"] = _with_values(service.get("environment"))
    if build := service.get("build"):
        kept.pop("image", None)
        kept["build"] = build | {"args": _with_values(build.get("args"))}
    kept["volumes"] = [
        volume | {"read_only": True} if volume.get("type") == "bind" else volume
        for volume in service.get("volumes") or ()
    ]
    kept["depends_on"] = {PREFIX + other: rule for other, rule in (service.get("depends_on") or {}).items()}
    joined = [network or {} for network in (service.get("networks") or {}).values()]
    aliases = list(dict.fromkeys([name, *(alias for network in joined for alias in network.get("aliases") or ())]))
    own = {"networks": {"bench": {"aliases": aliases}}, "mem_limit": service.get("mem_limit") or "1g"}
    return {**kept, **own, **rules().hardened}
