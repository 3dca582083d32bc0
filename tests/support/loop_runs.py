"""Synthetic runs for the measuring loop without containers: plans, calls of `python3 -m bench next`, and raw files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from captured import Capture
from make_run import entry, looks_of, output_of, services_of, write_measurement, write_run

from bench.__main__ import main
from bench.load.task import FILE as STEP
from bench.plan.measurement import planned_of
from bench.schedule.finished import FILE
from bench.schedule.steps import Step, steps_of
from driver.messages import RUN_JSON, Finished, as_json

STACKS = ("aiohttp", "tornado", "uvicorn-asgi")
NAMES = tuple(f"{stack}-py313-debian" for stack in STACKS)
RATES = dict(zip(NAMES, (3000.0, 4000.0, 5000.0), strict=True))
LOADED = {"timeout_s": 2, "path": "/json", "seconds": 10}


def solo(stack: str, number: int, round_number: int = 1, **changes: Any) -> dict[str, Any]:
    """A line of the plan for a solo measurement."""
    return in_step(entry(stack, number=number, round=round_number, **LOADED) | changes)


def in_step(line: dict[str, Any]) -> dict[str, Any]:
    """The line, in the folder of its own step."""
    window = f"{line['scenario']}/{line['tool']}-{line['level']}/w1/{line['service']}"
    return line | {"dir": f"raw/r{line['round']:02}/{line['position']:04}/{window}"}


def null(number: int, round_number: int = 1) -> dict[str, Any]:
    """A line of the plan for the null server."""
    return solo("aiohttp", number, round_number, mode="null", service="null")


def block(
    round_number: int, stacks: Sequence[str], scenarios: Sequence[str] = ("json",), number: int = 1, windows: int = 1
) -> list[dict[str, Any]]:
    """The lines of one block of a round, with a table for each scenario."""
    unit, folder = f"r{round_number:02}-b{number}", f"raw/r{round_number:02}/b{number}"
    lines = []
    for scenario in scenarios:
        for window in range(1, windows + 1):
            for slot, stack in enumerate(stacks, 1):
                line = entry(stack, scenario, level="c16", round=round_number, **LOADED)
                line |= {"id": f"{unit}-{scenario}-wrk-c16-w{window}-{slot}", "mode": "turns", "unit": unit}
                line |= {"block": number, "window": window, "slot": slot, "duration_s": 1.0, "turn_s": 0.1}
                line |= {"dir": f"{folder}/{scenario}/wrk-c16/w{window}/{line['service']}"}
                lines.append(line)
    return lines


def at_rate(lines: Iterable[Mapping[str, Any]], level: str = "share50") -> list[dict[str, Any]]:
    """From the lines of a table in turns, those of the same services at a common rate."""
    rated = []
    for line in lines:
        load = {"tool": "vegeta", "level": level, "connections": None, "mode": "rate", "turn_s": None}
        load |= {"id": line["id"].replace("wrk-c16", f"vegeta-{level}"), "duration_s": 1.0}
        load |= {"share": int(level[-2:]) / 100, "share_of": f"{line['tool']} {line['level']}"}
        rated.append({**line, **load, "dir": line["dir"].replace("wrk-c16", f"vegeta-{level}")})
    return rated


def steps(lines: Iterable[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps of these lines."""
    return steps_of(map(planned_of, lines))


def one_step(lines: Iterable[Mapping[str, Any]]) -> Step:
    """The step of these lines."""
    (found,) = steps(lines)
    return found


def tables_of(lines: Iterable[Mapping[str, Any]], rounds: int = 4, looks: Sequence[int] = ()) -> list[dict[str, Any]]:
    """The tables in turns of these lines, as in run.json."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        cell = {key: line[key] for key in ("scenario", "tool", "level")}
        planned = {"waits": False, "services": [], "rounds": rounds, "looks": list(looks or looks_of(rounds))}
        table = found.setdefault(tuple(cell.values()), cell | planned)
        table["services"] += [] if line["service"] in table["services"] else [line["service"]]
    return [*found.values()]


def a_run(folder: Path, *lines: Mapping[str, Any], rounds: int = 4, **facts: Any) -> Path:
    """As `write_run`, with the tables of the lines in turns, which have so many rounds."""
    blocks = [line for line in lines if line.get("mode") == "turns"]
    return write_run(folder, lines, tables_in_turns=tables_of(blocks, rounds), **facts)


def write_window(
    folder: Path, line: Mapping[str, Any], rate: float, bad: int = 0, cpu_s: float | None = 0.9, **tool: Any
) -> None:
    """Writes the raw files of one service's turns (1 s in total), like bench.load; `tool` changes tool.json."""
    cpu_ns = {"loadgen": 10**8, "postgres": 0, "upstream": 0}
    if cpu_s is not None:
        cpu_ns[line["service"]] = round(cpu_s * 1e9)
    turns = {"count": 10, "load_ns": 98 * 10**7, "drain_ns": 2 * 10**7, "drains_cut": 0, "end": "frozen"}
    turns |= {"cpu_ns": cpu_ns, "host_ticks": [50, 0, 55, 95, 0, 0, 0, 0], "each": [], "missing": {}}
    turns |= tool.pop("turns", {})
    limits = {"nofile": 16384, "cpus": 1, "host_cpus": 2}
    # wrk's clock runs on while wrk is stopped.
    output = output_of(dict(line) | {"duration_s": 8.0}, rate / 8, bad).replace("Running 8s", "Running 3600s", 1)
    write_measurement(folder, line, output, tool={"turns": turns, "limits": limits} | tool)
    for name in (line["service"], "postgres", "upstream"):
        for when in ("before", "after"):
            (services_of(folder, line) / f"{name}.{when}").unlink()
    (folder / line["dir"] / "meta.json").unlink()


def finish_block(folder: Path, lines: Sequence[Mapping[str, Any]], rates: Mapping[str, float], **seen: Any) -> None:
    """Writes the driver's files of a block; services without a rate have no window."""
    services = services_of(folder, lines[0])
    services.mkdir(parents=True, exist_ok=True)
    for line in lines:
        if line["service"] in rates:
            write_window(folder, line, rates[line["service"]])
            (services / f"{line['service']}.status").write_text("0\n")
            for when in ("before", "after"):
                (services / f"{line['service']}.{when}").write_text("running true\nmemory_bytes 5000000\n")
    write_finished(folder, id=lines[0]["unit"], end_ns=4, **seen)


def finish(folder: Path, lines: Sequence[Mapping[str, Any]], rates: Iterable[float], **seen: Any) -> None:
    """Writes the driver's files of a successful step; `seen` changes finished.json."""
    for line, rate in zip(lines, rates, strict=False):
        write_measurement(folder, line, output_of(line, rate))
        (folder / line["dir"] / "meta.json").unlink()
    name = lines[0]["service"]
    known = {"id": lines[0]["id"], "image_ids": {name: "sha256:1"}, "started_ns": {name: 2}}
    known |= {"loaded_ns": 5, "end_ns": 6, "statuses": dict.fromkeys(("start", "prepare", "run"), 0)}
    services = services_of(folder, lines[0])
    services.mkdir(parents=True, exist_ok=True)
    (services / f"{name}.txt").write_text("ready 3\nwarm 4\n")
    write_finished(folder, **known | seen)


def write_finished(folder: Path, **seen: Any) -> None:
    """Writes finished.json, the driver's view of a step."""
    (folder / FILE).write_text(json.dumps(as_json(Finished(**{"begin_ns": 1} | seen))))


def make_loop(root: Path, plan: Sequence[Mapping[str, Any]], rates: Iterable[float]) -> None:
    """Writes results/a-run, and the files of its loads to `made` (rate 9999: with error answers, 0: none)."""
    folder, made = root / "results/a-run", root / "made"
    blocks = [line for line in plan if line.get("mode") == "turns"]
    for place in (folder, made):
        a_run(place, *plan)
    write_services(folder, {line["service"]: {"url": line.get("url"), **FACTS} for line in plan})
    for line, rate in zip(plan, rates, strict=False):
        if rate and line in blocks:
            write_window(made, line, rate)
        elif rate:
            write_measurement(made, line, output_of(line, rate, 9000 if rate == 9999 else 0))
            (made / line["dir"] / "meta.json").unlink()
            shutil.rmtree(services_of(made, line))


def write_services(folder: Path, services: Mapping[str, Mapping[str, Any]]) -> None:
    """Adds to the services in run.json what the driver needs to know about them."""
    path = folder / RUN_JSON
    facts = json.loads(path.read_text())
    known = {name: facts["services"].get(name, {}) | more for name, more in services.items()}
    path.write_text(json.dumps(facts | {"services": known}))


FACTS = {"image": "bench/x", "base_image": "python:3.13-slim", "framework": "flask", "concurrent": True, "routes": []}


def ask(folder: Path, capsys: Capture, elapsed: float, *options: str) -> tuple[int, list[str]]:
    """Exit status and output lines of `next`; a loop's first call has `--begin`."""
    status = main(["next", str(folder), "--elapsed", str(elapsed), *options])
    said = capsys.readouterr()
    return status, (said.out + said.err).splitlines()


def begun(folder: Path, capsys: Capture, *lines: Mapping[str, Any], options: Sequence[str] = (), **run: Any) -> Path:
    """As `a_run`, whose loop has begun with these options."""
    a_run(folder, *lines, **run)
    assert ask(folder, capsys, 0, "--begin", *options) == (0, [])
    return folder


def step_id(folder: Path) -> str:
    """The id of the next step."""
    return str(step_of(folder)["id"])


def step_of(folder: Path) -> Mapping[str, Any]:
    """The driver's part of the next step."""
    host: Mapping[str, Any] = json.loads((folder / STEP).read_text())["host"]
    return host


FIRST, SECOND = solo("aiohttp", 1), solo("tornado", 2)
"""The lines of a plan of two measurements."""
