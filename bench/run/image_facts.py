"""Facts about an image from the saved `docker image inspect` and os-release; None for facts that they lack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.core.files import as_json, mapping


def image_of(data: bytes | None) -> tuple[str | None, str | None]:
    """(image id, label that says how its base was built locally); pulled bases have no such label."""
    image = _first(data)
    labels = mapping(mapping(image.get("Config")).get("Labels"))
    label, image_id = labels.get("bench.base.made"), image.get("Id")
    return image_id if isinstance(image_id, str) else None, label if isinstance(label, str) else None


def image_bytes(data: bytes | None) -> int | None:
    """The size of the image."""
    size = _first(data).get("Size")
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 63 else None


def _first(data: bytes | None) -> Mapping[str, Any]:
    value = as_json(data or b"null")
    return mapping(value[0] if isinstance(value, list) and value else value)


def pretty_name(data: bytes | None) -> str | None:
    """PRETTY_NAME of os-release; with it, a base that was built elsewhere is not mistaken for an official one."""
    found = re.search(rb"^PRETTY_NAME=(.*)$", data or b"", re.MULTILINE)
    return found[1].decode("utf-8", "replace").strip().strip("\"'") or None if found else None
