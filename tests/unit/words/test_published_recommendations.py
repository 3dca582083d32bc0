"""What a published run of an own app recommends is best, or not shown to be worse, in each column that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

RUNS = [
    path.parent
    for path in sorted((ROOT / "results/published").glob("*/answers.json"))
    if "for the app" in path.read_text(encoding="utf-8")
]


def lines_of(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "verdicts.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_recommendation_is_best_or_equal_in_each_column_that_it_names(run: Path) -> None:
    (answer,) = json.loads((run / "answers.json").read_text(encoding="utf-8"))["answers"]
    named = re.search(r"(?:cheapest is|first is|run it on) ([\w-]+) \(", answer["sentence"])
    assert named
    services = json.loads((run / "run.json").read_text(encoding="utf-8"))["services"]
    (chosen,) = (name for name, service in services.items() if service["server"] == named[1])
    rows = {line["service"]: line for line in lines_of(run, "service") if line["rank"]}
    better = {
        (line["a"], line["b"]) if line["verdict"] == "slower" else (line["b"], line["a"])
        for line in lines_of(run, "contrast")
        if line["verdict"] in ("faster", "slower")
    }
    assert not [name for name in rows if (name, chosen) in better], "another one is shown to serve more"
    best = min(rows, key=lambda name: rows[name]["rank"])
    front = [name for name in rows if (best, name) not in better]
    least = min(rows[name]["cpu_us"]["mean"] for name in front)
    equal = [name for name in front if rows[name]["cpu_us"]["mean"] <= 1.03 * least]
    assert chosen in equal
    assert rows[chosen]["memory_loaded_bytes"] == min(rows[name]["memory_loaded_bytes"] for name in equal)


def test_there_are_published_runs_of_an_own_app() -> None:
    assert len(RUNS) >= 2
