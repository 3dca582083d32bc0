"""JSON as bytes: by orjson where it has a wheel (CPython, and not its newest version), else by the standard library."""

import json
from typing import Any

try:
    from orjson import dumps, loads
except ImportError:
    _encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    loads = json.loads

    def dumps(value: Any) -> bytes:
        """One JSON text without spaces, in UTF-8."""
        return _encoder.encode(value).encode()


__all__ = ["dumps", "loads"]
