"""The self-test of tables: detected differences, false ones, and when a promise is missed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from text_files import written
from turns_runs import facts_of, measured, service_of, table

from bench.analysis.runs.compatibility import ComparedRun
from bench.core.errors import UserError
from bench.run.folder import find_run
from calibration.__main__ import judge_verb
from calibration.tables import called_within, known_contrasts, tables, wall_s


def contrast(a: int, b: int, verdict: str, difference: float, scenario: str = "busy-301") -> dict[str, Any]:
    names = {us: f"uvicorn-synthetic{f'-slower-{us}us' if us else ''}-py313-debian" for us in (a, b)}
    line = {"kind": "contrast", "scenario": scenario, "verdict": verdict, "difference": difference}
    return line | {"a": names[a], "b": names[b]}


def run(folder: Path, *lines: dict[str, Any]) -> str:
    written(folder, {"run.json": "{}", "verdicts.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    return str(find_run(str(folder), "verdicts.jsonl"))


GOOD = (
    contrast(0, 0, "no winner", 0.004),
    contrast(0, 20, "slower", -0.05),
    contrast(40, 20, "faster", 0.05),
    contrast(0, 40, "slower", -0.09),
    contrast(0, 12, "no winner", -0.03),
)


def test_what_is_called_right_holds(tmp_path: Path) -> None:
    text, holds = tables([run(tmp_path, *GOOD)])
    assert holds
    assert "| 5 % | 2 | 0 | 0 | 0 | 2 | 0 | 0 | +5.1 % | holds |" in text
    assert "0 of 1 tables have a false verdict" in text


@pytest.mark.parametrize(
    "lie",
    [
        contrast(0, 0, "faster", 0.03),
        contrast(0, 20, "faster", 0.03),
        contrast(40, 20, "slower", -0.03),
        contrast(0, 40, "equal", -0.01),
    ],
    ids=["equals differ", "wrong sign", "wrong sign, the other way round", "a real difference denied"],
)
def test_a_false_word_is_counted(lie: dict[str, Any], tmp_path: Path) -> None:
    assert [one.wrong for one in known_contrasts(run(tmp_path, lie))] == [True]
    text, holds = tables([run(tmp_path, *GOOD, lie)])
    # Of two pairs of equal services, one that differs is more than chance often gives.
    assert "1 of 1 tables have a false verdict" in text and not holds


def test_many_tables_with_a_false_word_miss_the_promise(tmp_path: Path) -> None:
    names = [f"busy-{number}" for number in range(20)]
    wrong = [contrast(0, 0, "faster", 0.03, name) for name in names]
    assert not tables([run(tmp_path, *GOOD, *wrong)])[1]


def test_what_is_not_called_misses_the_promise(tmp_path: Path) -> None:
    text, holds = tables([run(tmp_path, *GOOD, contrast(0, 20, "no winner", -0.05))])
    assert not holds
    assert "| MISSED |" in text
    assert judge_verb(["tables", str(tmp_path)]) == 1


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no table in turns"):
        tables([run(tmp_path)])


@pytest.mark.parametrize(("round_s", "limits"), [(20, [90, 180, 240]), (40, [180, 240]), (70, [])])
def test_a_difference_is_called_at_the_look_that_the_time_reaches(
    round_s: int, limits: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {service_of("uvicorn-asgi"): "synthetic", service_of("aiohttp"): "synthetic-slower-20us"}
    windows = measured({"uvicorn-asgi": 4000, "aiohttp": 3700}, 7)
    renamed = [replace(one, service=names[one.service], framework=names[one.service]) for one in windows]
    records = [replace(one, server="uvicorn") for one in renamed]
    facts = ComparedRun(run=facts_of(table(names.values(), rounds=7)), plan=(), records=records, services={})
    monkeypatch.setattr("calibration.tables.read_compared", lambda folder: facts)
    for number in range(1, 8):
        end = (1000 + number * round_s) * 1_000_000_000
        meta = json.dumps({"begin_ns": end - round_s * 1_000_000_000, "end_ns": end})
        written(tmp_path, {f"raw/r{number:02}/b1/json/wrk-c16/w1/one/meta.json": meta})
    assert [*called_within(str(tmp_path))] == [(5, limit) for limit in limits]
    assert wall_s(str(tmp_path)) == pytest.approx(7 * round_s)
