"""The JSON Schema of a record (draft 2020-12): msgspec reads the types of the dataclass, this module adds the rules.

`GOLDEN=write python -m pytest tests/unit/records/test_schema.py` writes docs/records.schema.json.
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from bench.core.service_settings import Settings
from bench.export.columns import LAGS
from bench.plan.measurement import MODES
from bench.records import record as record_module
from bench.records.record import ERROR_KINDS, FIGURES, LATENCIES, MEASURED, Record

NUMBER = {"type": ["number", "null"]}
COUNT = {"type": ["integer", "null"]}
BY_NAME = {"type": ["object", "null"], "additionalProperties": {"type": "integer"}}
ERRORS = dict.fromkeys(ERROR_KINDS, COUNT)
ERRORS |= {"status": BY_NAME, "other": BY_NAME | {"type": ["integer", "object", "null"]}}


def schema() -> dict[str, Any]:
    """The whole schema for one line of records.jsonl."""
    derived = msgspec.json.schema(Record, schema_hook=_as_text)["$defs"]
    properties = {name: _field(name, value) for name, value in derived["Record"]["properties"].items()}
    cause = derived["Cause"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One measurement: a line of records.jsonl",
        "description": "A figure that is null has its reason in `nulls`; counts are numbers of requests.",
        **_object({"schema": {"const": Record.SCHEMA}, **properties}),
        "allOf": [*_reasons(), *_verdict()],
        "$defs": {"Cause": _object(cause["properties"]) | {"required": cause["required"]}},
    }


def _as_text(kind: type) -> dict[str, Any]:
    """The schema of a value that is written as text."""
    return {"type": ["string", "null"] if kind is Settings else "string"}


def _field(name: str, derived: dict[str, Any]) -> dict[str, Any]:
    return {"description": described()[name]} | _exact(name, _plain(derived))


@cache
def described() -> dict[str, str]:
    """What the text below each field says of it."""
    tree = ast.parse(Path(record_module.__file__).read_text())
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == Record.__name__)
    texts = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            texts[field.target.id] = " ".join(ast.literal_eval(text.value).removesuffix(".").split())
    return texts


def _plain(derived: dict[str, Any]) -> dict[str, Any]:
    """msgspec's schema of one field, without its default and with `x or null` as one list of types."""
    found = derived
    if "anyOf" in found:
        (kind,) = (option for option in found["anyOf"] if option != {"type": "null"})
        found = kind | {"type": [kind["type"], "null"]}
    # The bounds of a 64-bit integer are those of this version's reader, not of the format.
    bounds = {"minimum": -(2**63), "maximum": 2**63 - 1}
    return {key: value for key, value in found.items() if key != "default" and value != bounds.get(key)}


def _exact(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Adds what the types do not say: keys of mappings, names of modes."""
    exact = {
        "errors": _object(ERRORS),
        "latency_s": _object(dict.fromkeys(LATENCIES, NUMBER)),
        "lag_s": _object({key: {"type": "number"} for key in LAGS}) | {"type": ["object", "null"]},
        "nulls": _object({key: {"type": "string"} for key in reasoned()}) | {"required": []},
        "mode": found | {"enum": list(MODES)},
    }
    return exact.get(name, found)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def reasoned() -> list[str]:
    """Names that must be in `nulls` if they are null."""
    return [*FIGURES, *(f"errors.{k}" for k in ERROR_KINDS), *(f"latency_s.{k}" for k in LATENCIES)]


def _reasons() -> list[dict[str, Any]]:
    """Every figure has either a value or a reason."""
    rules = []
    for name in reasoned():
        null: dict[str, Any] = {"type": "null"}
        for part in reversed(name.split(".")):
            null = {"properties": {part: null}, "required": [part]}
        told = {"properties": {"nulls": {"required": [name]}}}
        untold = {"properties": {"nulls": {"not": {"required": [name]}}}}
        rules.append({"if": null, "then": told, "else": untold})
    return rules


def _verdict() -> list[dict[str, Any]]:
    """A record is valid if it was measured and has no causes."""
    return [
        {
            "if": {"properties": {"valid": {"const": True}}},
            "then": {"properties": {"outcome": {"const": MEASURED}, "causes": {"maxItems": 0}}},
            "else": {"properties": {"causes": {"minItems": 1}}},
        }
    ]
