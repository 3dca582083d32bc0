"""The exact versions in an app's lock file, as constraints or as requirements. Only read: no tool of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from bench.core.errors import UserError
from bench.core.files import items, mapping
from bench.core.formats import listed

PIPFILE, PYLOCK = "Pipfile.lock", "pylock.toml"
LOCKS = {"uv.lock": "package", "poetry.lock": "package", "pdm.lock": "package", PIPFILE: "", PYLOCK: "packages"}
"""The lock files to look for in an app's folder, in this order, each with the name of its array of packages."""
ELSEWHERE = ("git", "hg", "svn", "vcs", "url", "archive", "file", "path", "directory", "editable", "virtual")
"""Where a package may come from if not from an index, in the words of these files."""
MEMBERS = ("editable", "virtual")
"""How uv.lock calls the members of a workspace."""
_CHOSEN = re.compile(r'extra (==|!=) "[^"]*"|"([^"]*)" (not )?in (extras|dependency_groups)')
"""The parts of a marker that depend on the chosen extras and groups."""
_ALWAYS, _NEVER = 'python_version >= "0"', 'python_version < "0"'


class Locked(NamedTuple):
    """A package of a lock: `origin` is one of `ELSEWHERE`, or empty if it comes from an index; `place` is its path."""

    name: str
    version: str
    marker: str
    origin: str
    place: str

    def line(self, marker: str = "") -> str:
        """Its requirement; UserError if the lock has something else there."""
        return requirement(f"{self.name}=={self.version}", marker)


def requirement(text: str, marker: str = "") -> str:
    """A requirement as one line; UserError if it is none, as files of an app may have anything."""
    try:
        return str(Requirement(f"{text} ; {marker}" if marker else text))
    except InvalidRequirement as error:
        raise UserError(f"'{text}' is not a requirement of a package: give --requirements FILE") from error


def locked(name: str, data: Mapping[str, Any]) -> Iterator[Locked]:
    """The packages of the lock file with this name, without those that have no version and come from an index."""
    if name == PIPFILE:
        sections = (mapping(data.get(section)) for section in ("default", "develop"))
        entries = [{**mapping(value), "name": key} for section in sections for key, value in section.items()]
    else:
        entries = [dict(mapping(value)) for value in items(data.get(LOCKS[name]))]
    groups = [group for group in items(data.get("default-groups")) if isinstance(group, str)]
    for entry in entries:
        source = mapping(entry.get("source"))
        # poetry.lock: source = { type, url }; uv.lock: source = { git = ... }; else the entry itself has the key.
        origin = next((word for word in ELSEWHERE if word in (source.get("type"), *entry)), "")
        place = source.get("url") if origin else None
        if not origin and "type" not in source:
            origin = next((word for word in ELSEWHERE if word in source), "")
            place = source.get(origin)
        place = place or mapping(entry.get(origin)).get("path") or entry.get(origin)
        version = str(entry.get("version") or "").removeprefix("==")
        if version or origin:
            marker = _without_choices(_marker(entry), groups)
            yield Locked(str(entry.get("name") or ""), version, marker, origin, place if isinstance(place, str) else "")


def _marker(entry: Mapping[str, Any]) -> str:
    """When a package is installed; poetry.lock has a marker for each group, uv.lock has alternatives."""
    value = entry.get("marker") or entry.get("markers") or entry.get("resolution-markers") or ""
    if isinstance(value, dict):
        value = value.get("main", "")
    return " or ".join(f"({one})" for one in value) if isinstance(value, list) else str(value)


def _without_choices(marker: str, groups: Collection[str]) -> str:
    """The marker for an app without extras and with these groups; empty if it is not valid."""

    def constant(found: re.Match[str]) -> str:
        chosen = found[2] in groups and found[4] == "dependency_groups"
        return _ALWAYS if chosen != (found[1] == "!=" or bool(found[3])) else _NEVER

    with suppress(InvalidMarker):
        return _CHOSEN.sub(constant, str(Marker(marker))) if marker else ""
    return ""


def constraints(
    name: str, data: Mapping[str, Any], projects: Collection[str], shown: str = ""
) -> tuple[list[str], str]:
    """The versions of a lock as constraints, and the line that says so, with the packages that it does not pin.

    `projects`: the places of packages in the app's folder, which are installed from there. `shown`: the path of a lock
    of a workspace, whose members have places in it.
    """
    versions: dict[str, dict[str, Locked]] = {}
    elsewhere: dict[str, None] = {}
    for package in locked(name, data):
        is_inside = bool(package.place) and os.path.normpath(package.place) in (".", *projects)
        if not package.origin:
            versions.setdefault(canonicalize_name(package.name), {})[package.version] = package
        elif not is_inside and not (shown and package.origin in MEMBERS):
            elsewhere[f"{package.name} (from {package.origin})"] = None
    ambiguous = {key: len(own) > 1 and not all(one.marker for one in own.values()) for key, own in versions.items()}
    several = [key for key in versions if ambiguous[key]]
    known = [packages.values() for key, packages in versions.items() if not ambiguous[key]]
    lines = [package.line(package.marker if len(packages) > 1 else "") for packages in known for package in packages]
    unpinned = [*(f"{key} ({len(versions[key])} versions)" for key in several), *elsewhere]
    but = f", except for {listed(unpinned)}" if unpinned else ""
    lock = shown or name
    return lines, f"the versions of {lock} are measured{but}" if lines else f"{lock} names no version"
