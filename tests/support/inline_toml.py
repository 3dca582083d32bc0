"""Values in TOML's inline form, for tests that write a changed matrix."""

from __future__ import annotations

import json
from typing import Any


def toml(value: Any) -> str:
    """`value` in TOML's inline form: like JSON, except for values that TOML does not have."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '""' if value is None else json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


def as_file(data: Any) -> str:
    """The text of a file with this data; of what is no table, a file that is none either."""
    if not isinstance(data, dict):
        return toml(data)
    return "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in data.items())
