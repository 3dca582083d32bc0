"""Runs for a loop without containers: what `python3 -m bench next` is asked, and the raw files that a host leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement

from bench.__main__ import main

LOADED = {"timeout_s": 2, "path": "/json", "seconds": 10}
SIDES = tuple((window, side) for window in (1, 2) for side in "ab")


def solo(stack: str, number: int, round_number: int = 1, **changes: Any) -> dict[str, Any]:
    """A line of the plan that can be loaded."""
    return entry(stack, number=number, round=round_number, **LOADED) | changes


def null(number: int, round_number: int = 1) -> dict[str, Any]:
    """A line for the null server."""
    place = {"mode": "null", "service": "null", "dir": f"raw/r{round_number:02}/null/json/wrk-c64"}
    return solo("aiohttp", number, round_number, **place)


def pair(number: int, round_number: int = 1, a: str = "aiohttp", b: str = "tornado") -> list[dict[str, Any]]:
    """The lines of one round of a pair."""
    unit = f"r{round_number:02}-{number:04}"
    lines = []
    for window, side in SIDES:
        place = {"id": f"{unit}-{window}{side}", "unit": unit, "mode": "duet", "pair": "p001", "side": side}
        place |= {"window": window, "slot": "ab".index(side) + 1}
        place |= {"dir": f"raw/r{round_number:02}/pairs/p001/{window}{side}"}
        lines.append(solo(a if side == "a" else b, number, round_number, **place))
    return lines


def can_be_loaded(folder: Path) -> Path:
    """The same run with its plan in the order of the rounds, and what a step file needs in each line."""
    lines = [LOADED | json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
    lines.sort(key=lambda line: int(line["round"]))
    (folder / "plan.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def finish(folder: Path, lines: Sequence[Mapping[str, Any]], rates: Iterable[float], **facts: Any) -> None:
    """What the host leaves at the end of a step that went well, and what differs in finished.env."""
    for line, rate in zip(lines, rates, strict=False):
        write_measurement(folder, line, output_of(line, rate))
        (folder / line["dir"] / "meta.json").unlink()
    if lines[0].get("mode") == "duet":
        known = {"id": lines[0]["unit"], "start_status": 0, "prepare_1_status": 0, "run_1_status": 0, "run_2_status": 0}
        known |= {
            "image_a": "sha256:a",
            "image_b": "sha256:b",
            "begin_ns": 1,
            "end_1_ns": 2,
            "end_2_ns": 3,
            "end_ns": 4,
        }
        place = folder / str(lines[0]["dir"]).rpartition("/")[0]
        went_well(place)
    else:
        known = {"id": lines[0]["id"], "start_status": 0, "prepare_status": 0, "run_status": 0, "alive": "yes"}
        known |= {"image_id": "sha256:1", "begin_ns": 1, "started_ns": 2, "loaded_ns": 5, "end_ns": 6}
        (folder / lines[0]["dir"] / "prepare.txt").write_text("ready 3\nwarm 4\n")
    text = "".join(f"{key}={value}\n" for key, value in (known | facts).items() if value is not None)
    (folder / "finished.env").write_text(text)


def went_well(place: Path) -> None:
    """What loadgen/pair saves in the folder of a round of a pair when all loads of both sides do well."""
    for window, side in SIDES:
        for verb in ("prepare", "run") if window == 1 else ("run",):
            (place / f"{window}{side}" / f"{verb}.status").write_text("0\n")


def ask(folder: Path, capsys: pytest.CaptureFixture[str], elapsed: float, *options: str) -> tuple[int, list[str]]:
    """Exit status and lines of `next`; a loop's first call has `--begin`."""
    status = main(["next", str(folder), "--elapsed", str(elapsed), *options])
    said = capsys.readouterr()
    return status, (said.out + said.err).splitlines()


def step_id(folder: Path) -> str:
    """The step that is to be loaded."""
    [line] = [line for line in (folder / "step.sh").read_text().splitlines() if line.startswith("STEP_ID=")]
    return line.removeprefix("STEP_ID=")
