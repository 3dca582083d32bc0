"""The services of a run for the loop on the host to source."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

DEPENDENCIES = ("loadgen", "postgres", "upstream")


def services_file(services: Mapping[str, Mapping[str, Any]], own_app: Mapping[str, Any] | None = None) -> str:
    """RUN/services.sh: names, images, bases, frameworks, settings and routes of the services, for bash to source."""
    running = {name: facts["url"] for name, facts in services.items() if facts.get("url")}
    services = {name: facts for name, facts in services.items() if name not in running}
    own = own_app["services"] if own_app else ()
    # A user's own service of the same name takes the place of ours.
    dependencies = [name for name in DEPENDENCIES if name not in own]
    dependencies += [f"own-{name}" for name in own]
    return (
        _array("SERVICES", services)
        + _array("DEPENDENCIES", dependencies)
        + _map("IMAGE_OF", {name: facts["image"] for name, facts in services.items()})
        + _map("BUILD_OF", {n: f.get("built_as") or f["image"].rpartition("/")[2] for n, f in services.items()})
        + _map("SETTINGS_OF", {name: facts.get("settings") or "" for name, facts in services.items()})
        + _map("BASE_OF", {name: facts["base_image"] for name, facts in services.items()})
        + _map("FRAMEWORK_OF", {name: facts["framework"] for name, facts in services.items()})
        + _map("WAITS_OF", {n: "--concurrent" if f["concurrent"] else "--sequential" for n, f in services.items()})
        + _map("ROUTES_OF", {name: ",".join(facts["routes"]) for name, facts in services.items()})
        + _sources(services)
        + (_map("TARGET_OF", running) if running else "")
        + (_own(own_app) if own_app else "")
    )


def _sources(services: Mapping[str, Mapping[str, Any]]) -> str:
    """The images with a package from a source, which has a local version: they go with the run. Empty without any."""
    images = dict.fromkeys(facts["image"] for facts in services.values() if "+" in (facts.get("package") or ""))
    return _array("SOURCE_IMAGES", images) if images else ""


def _own(app: Mapping[str, Any]) -> str:
    names = {"OWN_APP": "app", "OWN_FOLDER": "folder", "OWN_ENV_FILE": "env_file", "OWN_BEFORE": "before"}
    lines = "".join(f"{name}={shlex.quote(app[key])}\n" for name, key in names.items())
    return lines + _array("OWN_VARIABLES", app["variables"])


def _array(name: str, words: Iterable[str]) -> str:
    return f"{name}=({' '.join(map(shlex.quote, words))})\n"


def _map(name: str, pairs: Mapping[str, str]) -> str:
    entries = " ".join(f"[{shlex.quote(key)}]={shlex.quote(value)}" for key, value in pairs.items())
    return f"declare -gA {name}=({entries})\n"
