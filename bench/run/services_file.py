"""The services of a run for the loop on the host to source."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

DEPENDENCIES = ("loadgen", "postgres", "upstream")
SECOND_DATABASE = "postgres2"


def services_file(services: Mapping[str, Mapping[str, Any]], *, second_database: bool) -> str:
    """RUN/services.sh, for bash to source: names, images, bases, frameworks, settings and routes of the services."""
    dependencies = (*DEPENDENCIES, *((SECOND_DATABASE,) if second_database else ()))
    return (
        _array("SERVICES", services)
        + _array("DEPENDENCIES", dependencies)
        + _map("IMAGE_OF", {name: facts["image"] for name, facts in services.items()})
        + _map("BUILD_OF", {name: facts["image"].rpartition("/")[2] for name, facts in services.items()})
        + _map("SETTINGS_OF", {name: facts.get("settings") or "" for name, facts in services.items()})
        + _map("BASE_OF", {name: facts["base_image"] for name, facts in services.items()})
        + _map("FRAMEWORK_OF", {name: facts["framework"] for name, facts in services.items()})
        + _map("WAITS_OF", {n: "--concurrent" if f["concurrent"] else "--sequential" for n, f in services.items()})
        + _map("ROUTES_OF", {name: ",".join(facts["routes"]) for name, facts in services.items()})
    )


def _array(name: str, words: Iterable[str]) -> str:
    return f"{name}=({' '.join(map(shlex.quote, words))})\n"


def _map(name: str, pairs: Mapping[str, str]) -> str:
    return f"declare -gA {name}=({' '.join(f'[{key}]={shlex.quote(value)}' for key, value in pairs.items())})\n"
