"""The services of a run for the driver, which reads this and not run.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from driver.messages import Host, OwnApp, Service, as_json

DEPENDENCIES = ("loadgen", "postgres", "upstream")


def host_json(services: Mapping[str, Mapping[str, Any]], own_app: Mapping[str, Any] | None = None) -> str:
    """RUN/host.json, from run.json's entries."""
    own = own_app["services"] if own_app else ()
    # A user's own service of the same name takes the place of ours.
    dependencies = [name for name in DEPENDENCIES if name not in own]
    dependencies += [f"own-{name}" for name in own]
    # The images with a package from a source, which has a local version, go with the run.
    sources = dict.fromkeys(facts["image"] for facts in services.values() if "+" in (facts.get("package") or ""))
    host = Host(
        {name: _service(facts) for name, facts in services.items()},
        tuple(dependencies),
        tuple(sources),
        _own_app(own_app) if own_app else None,
    )
    return json.dumps(as_json(host), indent=1) + "\n"


def _service(facts: Mapping[str, Any]) -> Service:
    if facts.get("url"):
        return Service(url=facts["url"])
    return Service(
        image=facts["image"],
        build=facts.get("built_as") or facts["image"].rpartition("/")[2],
        base=facts["base_image"],
        framework=facts["framework"],
        settings=facts.get("settings") or "",
        concurrent=facts["concurrent"],
        routes=tuple(facts["routes"]),
    )


def _own_app(facts: Mapping[str, Any]) -> OwnApp:
    names = ("app", "folder", "env_file", "before")
    return OwnApp(**{name: facts[name] for name in names}, variables=tuple(facts["variables"]))
