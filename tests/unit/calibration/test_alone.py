"""How much ratios in turns differ from ratios of services alone, on records with a known bias."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from turns_runs import measured

from bench.core.errors import UserError
from bench.records.record import Cause, Record, dump
from calibration.alone import alone, biases, by_length

SPEEDS = {"aiohttp": 2000.0, "tornado": 4000.0, "uvicorn-asgi": 8000.0}


def records(**factors: float) -> list[Record]:
    """Records of services in turns, some faster by a factor than alone (the speeds above)."""
    rng, found = random.Random(1), []
    for record in measured(SPEEDS, 6, windows=1, spread=0.001, noise=0.0):
        stack = record.service.split("-py")[0]
        speed = SPEEDS[stack] * (1 + rng.gauss(0, 0.002))
        nulls = {name: why for name, why in record.nulls.items() if name != "speed"}
        found.append(replace(record, speed=speed * factors.get(stack, 1.0), nulls=nulls))
        goodput = SPEEDS[stack] * (1 + rng.gauss(0, 0.002))
        own = {"server_cpu_s": 0.99 * (record.duration_s or 0), "foreign_ratio": 0.0}
        kept = {name: why for name, why in record.nulls.items() if name not in own}
        found.append(replace(record, id=f"solo {record.id}", mode="solo", goodput=goodput, nulls=kept, **own))
    return found


def write(folder: Path, every: list[Record]) -> str:
    folder.mkdir()
    (folder / "records.jsonl").write_text("".join(dump(every)))
    return str(folder)


def test_the_bias_of_each_pair_is_found() -> None:
    found = {(one.a.split("-py")[0], one.b.split("-py")[0]): one for one in biases(records(tornado=1.1))}
    assert len(found) == 3
    assert found["aiohttp", "uvicorn-asgi"].value == pytest.approx(0.0, abs=0.005)
    assert found["aiohttp", "tornado"].value == pytest.approx(-0.0953, abs=0.005)
    assert 0 < found["aiohttp", "tornado"].half < 0.01


def test_a_bias_beyond_the_stated_one_is_missed(tmp_path: Path) -> None:
    text, holds = alone([write(tmp_path / "fine", records())])
    assert holds and "| 3 of 3 | holds |" in text
    text, holds = alone([write(tmp_path / "off", records(tornado=1.5))])
    assert not holds and "| 1 of 3 | MISSED |" in text


def test_what_the_load_generator_limits_is_no_truth_unless_the_server_is_busy(tmp_path: Path) -> None:
    cause = (Cause("loadgen-bound", "wrk's CPUs were 99 % busy"),)
    every = [
        replace(one, causes=cause, valid=False) if one.mode == "solo" and "uvicorn" in one.service else one
        for one in records()
    ]
    assert len(biases(every)) == 3
    idle = [
        replace(one, server_cpu_s=0.5 * (one.duration_s or 0)) if one.causes and one.mode == "solo" else one
        for one in every
    ]
    assert len(biases(idle)) == 1
    text, _ = alone([write(tmp_path / "idle", idle)])
    assert "json: without uvicorn-asgi-py313-debian, whose speed 6 windows in turns and 0 alone tell" in text


def test_what_other_programs_took_from_who_was_measured_alone_is_given_back() -> None:
    beside = [
        replace(one, goodput=0.9 * (one.goodput or 0), foreign_ratio=0.1 / 0.99**2)
        if one.mode == "solo" and "tornado" in one.service
        else one
        for one in records()
    ]
    assert all(abs(one.value) < 0.005 for one in biases(beside))


def test_runs_that_have_nothing_in_common_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="both in turns and alone"):
        alone([write(tmp_path / "turns", [one for one in records() if one.mode == "turns"])])


def test_turns_of_each_length_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "run", records(tornado=1.5))
    (tmp_path / "run/plan.jsonl").touch()
    planned = [SimpleNamespace(id=one.id, turn_s=0.5 if one.round > 3 else 0.1) for one in records()]
    monkeypatch.setattr("calibration.alone.read_run", lambda folder: SimpleNamespace(planned=planned))
    assert [*by_length([folder])] == ["100 ms", "500 ms"]
    text, holds = alone([folder])
    assert not holds and "| 500 ms | json | 3 |" in text and text.count("MISSED") == 2
