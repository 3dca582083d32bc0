"""The raw samples, each with its truth file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import SAMPLES

FORMATS_NOT_READ = ("csv", "gnuplot", "hdrplot", "hist", "jsonl")


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    tool: str
    truth: dict[str, Any]
    data: bytes

    @property
    def read(self) -> bool:
        return self.truth["format"] not in FORMATS_NOT_READ


def _load(path: Path) -> Sample:
    truth = json.loads(path.read_text())
    stem = path.name.removesuffix(".truth.json")
    files = (path.with_name(f"{stem}.{kind}") for kind in ("txt", "json", "csv", "jsonl"))
    output = next(file for file in files if file.exists())
    return Sample(f"{path.parent.name}/{stem}", path.parent.name, truth, output.read_bytes())


ALL = [_load(path) for path in sorted(SAMPLES.glob("*/*.truth.json"))]
READ = [sample for sample in ALL if sample.read]
NOT_READ = [sample for sample in ALL if not sample.read]


def named(name: str) -> Sample:
    return next(sample for sample in ALL if sample.name == name)


def figures(tree: Any, path: str = "") -> dict[str, Any]:
    """The figures of a parsed output by path, without descriptive fields and nulls."""
    if isinstance(tree, dict):
        found: dict[str, Any] = {}
        for key, value in tree.items():
            if path or key not in ("tool", "tool_version", "format", "report", "failure"):
                found |= figures(value, f"{path}/{key}")
        return found
    return {} if tree is None else {path: tree}
