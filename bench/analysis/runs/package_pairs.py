"""Versions of a package in one run: each is compared with the first one of the same service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SAME = ("stack", "python", "base", "settings")
"""What a service and its base have in common."""


def package_pairs(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(base, head) of every service that a run has with several versions of a package, in the order of the plan."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, service in facts["services"].items():
        groups.setdefault(tuple(service.get(key) for key in SAME), []).append(name)
    versions = [names for names in groups.values() if any(facts["services"][name].get("package") for name in names)]
    return [(first, other) for first, *others in versions for other in others]
