"""docs/records.schema.json matches the dataclass: it accepts and refuses the same records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import make_schema
import pytest
from golden import same_as
from golden_runs import FORMS
from make_run import many, output_of, write_measurement, write_run
from places import ROOT

from bench.export.judged_run import judge_run
from bench.records.record import FIGURES, BadRecord, Record, from_line

FILE = ROOT / "docs/records.schema.json"


@cache
def validator() -> Any:
    # Imported here, because the import takes seconds and only these tests need it.
    import jsonschema

    found = json.loads(FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Records of every golden run, and of a run with all tools, the null server, turns, and two that did not run."""
    found = []
    for make in FORMS:
        folder = tmp_path_factory.mktemp(make.__name__)
        make(folder)
        judge_run(folder)
        found += (folder / "records.jsonl").read_text().splitlines()
    folder = tmp_path_factory.mktemp("many")
    plan = [*many(60)]
    plan[3] |= {"mode": "null", "service": "null"}
    plan[4] |= {"mode": "turns", "unit": "r01-b1", "block": 1, "window": 1, "slot": 1, "turn_s": 0.1}
    write_run(folder, plan)
    for line in plan[:-2]:
        write_measurement(folder, line, output_of(line, 500 if line["rate"] else 2000))
    judge_run(folder)
    return found + (folder / "records.jsonl").read_text().splitlines()


def test_the_file_is_what_the_dataclass_says() -> None:
    text = json.dumps(make_schema.schema(), indent=1) + "\n"
    same_as(FILE, text)


def test_every_field_has_its_words() -> None:
    assert list(make_schema.described()) == [field.name for field in fields(Record)]


def test_records_are_valid(lines: list[str]) -> None:
    check = validator()
    assert len(lines) > 150
    assert not [error.message for line in lines for error in check.iter_errors(json.loads(line))]
    outcomes = {json.loads(line)["outcome"] for line in lines}
    assert {"measured", "not run", "died", "build failed"} <= outcomes
    assert {json.loads(line)["mode"] for line in lines} == {"solo", "turns", "null"}
    assert not check.is_valid(json.loads(lines[0]) | {"mode": "trio"})


def broken() -> Iterator[tuple[str, Callable[[dict[str, Any]], None]]]:
    """Changes that make a good record invalid."""
    for name in FIGURES:
        if name in ("lag_s", "knee_rate", "speed", "server_busy_ratio"):
            continue  # wrk by itself has none of these
        yield f"{name} null without a reason", lambda r, name=name: r.update({name: None})
        yield f"{name} with a value and a reason", lambda r, name=name: r["nulls"].update({name: "why"})
    yield "an error null without a reason", lambda r: r["errors"].update(connect=None)
    yield "a latency null without a reason", lambda r: r["latency_s"].update(p99=None)
    yield "a reason taken away", lambda r: r["nulls"].pop("lag_s")
    yield "a reason for what nobody asks", lambda r: r["nulls"].update(mood="none")
    yield "valid with a cause", lambda r: r.update(causes=[{"cause": "errors", "detail": "40"}])
    yield "not valid without a cause", lambda r: r.update(valid=False)
    yield "valid though not measured", lambda r: r.update(outcome="died")
    yield "another schema", lambda r: r.update(schema=99)
    yield "no schema", lambda r: r.pop("schema")
    yield "a field more", lambda r: r.update(mood="good")
    yield "a cause without facts", lambda r: r.update(valid=False, causes=[{"cause": "errors"}])
    kinds = {"goodput": "833", "round": 0, "valid": 1, "command": "wrk -x", "nulls": [], "id": None}
    for name, value in kinds.items():
        yield f"{name} of another kind", lambda r, name=name, value=value: r.update({name: value})


@pytest.mark.parametrize(("what", "spoil"), list(broken()), ids=lambda value: value if isinstance(value, str) else "")
def test_a_broken_record_is_refused_by_both(
    what: str, spoil: Callable[[dict[str, Any]], None], lines: list[str]
) -> None:
    found = next(values for line in lines if (values := json.loads(line))["tool"] == "wrk" and values["valid"])
    spoil(found)
    assert not validator().is_valid(found)
    with pytest.raises(BadRecord):
        from_line(json.dumps(found), Record)


def test_a_record_of_a_tool_that_this_version_lacks_is_refused(lines: list[str]) -> None:
    with pytest.raises(BadRecord, match="of the load tool siege"):
        from_line(json.dumps(json.loads(lines[0]) | {"tool": "siege"}), Record)
