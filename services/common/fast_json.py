"""JSON as bytes: orjson if it has a wheel (CPython, except the newest version), else the standard library."""

import json
from typing import Any

try:
    from orjson import dumps, loads
except ImportError:
    _encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    loads = json.loads

    def dumps(value: Any) -> bytes:
        """Compact JSON in UTF-8."""
        return _encoder.encode(value).encode()


__all__ = ["dumps", "loads"]
