"""A server that already ran: in the report, in records, and beside a user's own app."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from built_runs import build
from loop_runs import block, finish_block, one_step, solo, tables_of
from make_run import output_of, services_of, write_measurement, write_run

from bench.cli.plan import plan_verb
from bench.core.errors import UserError
from bench.plan.running import UNKNOWN
from bench.records.record import Record
from bench.run.reader import read_run
from bench.schedule.finished import read_finished, record_step
from bench.words.setup import already_running

NAME = "target-127.0.0.1-8000"
RUNNING = {"service": NAME, "server": NAME, "framework": NAME, "python": UNKNOWN, "base": UNKNOWN, "host_network": True}
RUNNING |= {"url": "http://127.0.0.1:8000", "path": "/x?a=1"}
NO_COUNTERS = "no counters: not a container of this project"


def make(folder: Path, lines: Sequence[Mapping[str, Any]], **changes: Any) -> Path:
    write_run(folder, lines, **changes)
    facts = json.loads((folder / "run.json").read_text())
    facts["services"][NAME] |= {"url": RUNNING["url"], "owned": False, "base": UNKNOWN}
    (folder / "run.json").write_text(json.dumps(facts))
    saved = folder / "raw/services" / NAME
    for file in saved.iterdir():
        file.unlink()
    (saved / "answers.json").write_text("{}")
    return folder


def words_of(folder: Path) -> str:
    ((name, words),) = already_running(read_run(str(folder)))
    assert name == "already running"
    return words


def alone(folder: Path) -> Path:
    line = solo("aiohttp", 1, scenario="get-x", dir=f"raw/r01/0001/get-x/wrk-c64/w1/{NAME}") | RUNNING
    make(folder, [line])
    write_measurement(folder, line, output_of(line, 3000), meta={"image_id": None, "started_ns": None})
    for when in ("before", "after"):
        (services_of(folder, line) / f"{NAME}.{when}").write_text(f"null {NO_COUNTERS}\n")
    return folder


def test_alone_it_has_requests_and_latency_and_for_all_else_the_reason(tmp_path: Path) -> None:
    (record,) = build(alone(tmp_path / "a-run"))
    assert (record.valid, record.goodput, record.latency_s["p99"] is not None) == (True, 3000.0, True)
    for figure in ("cpu_per_success_s", "memory_loaded_bytes", "memory_idle_bytes", "foreign_ratio"):
        assert (getattr(record, figure), record.nulls[figure]) == (None, NO_COUNTERS)
    assert record.nulls["image_id"] == record.nulls["python_build"] == "not a container of this project"
    report = (tmp_path / "a-run/report.md").read_text()
    assert (
        "- already running: target-127.0.0.1-8000 is http://127.0.0.1:8000, loaded with GET /x?a=1. It is not" in report
    )
    assert NAME in (tmp_path / "a-run/index.html").read_text()


def test_it_is_said_that_one_measured_alone_has_no_rank_and_that_the_user_owns_it(tmp_path: Path) -> None:
    folder = alone(tmp_path / "a-run")
    assert words_of(folder).endswith("and has no rank. Its first responses are taken as correct.")
    facts = json.loads((folder / "run.json").read_text())
    assert "certificate" not in words_of(folder)
    facts["services"][NAME] |= {"owned": True, "url": "https://127.0.0.1:8443"}
    (folder / "run.json").write_text(json.dumps(facts))
    assert "Its certificate was not verified. The null server has no TLS" in words_of(folder)
    assert words_of(folder).endswith("the user states that they own it (--i-own-this-target).")


def in_turns(folder: Path, rates: Mapping[str, float]) -> list[Record]:
    """Records of six rounds of it beside two services, with these rates."""
    rounds = []
    for number in range(1, 7):
        lines = [line | {"host_network": True} for line in block(number, ("aiohttp", "tornado", "uvicorn-asgi"))]
        place = lines[2]["dir"].rpartition("/")[0]
        lines[2] |= RUNNING | {"dir": f"{place}/{NAME}", "path": "/json"}
        rounds.append(lines)
    every = [line for lines in rounds for line in lines]
    make(folder, every, tables_in_turns=[table | {"waits": True} for table in tables_of(every, 6)], mode="turns")
    for lines in rounds:
        finish_block(folder, lines, rates)
        for line in lines:
            if line["service"] == NAME:
                for when in ("before", "after"):
                    (services_of(folder, line) / f"{NAME}.{when}").write_text(f"null {NO_COUNTERS}\n")
                tool = folder / line["dir"] / "tool.json"
                told = json.loads(tool.read_text())
                del told["turns"]["cpu_ns"][NAME]
                told["turns"]["missing"] = {NAME: NO_COUNTERS}
                tool.write_text(json.dumps(told))
        seen = read_finished(folder)
        assert seen is not None
        record_step(folder, one_step(lines), seen)
    return build(folder)


def test_in_turns_it_is_ranked_by_requests_and_its_cpu_time_is_unknown(tmp_path: Path) -> None:
    names = ("aiohttp-py313-debian", "tornado-py313-debian", NAME)
    records = in_turns(tmp_path / "a-run", dict(zip(names, (3000.0, 1000.0, 2000.0), strict=True)))
    own = [record for record in records if record.service == NAME]
    assert len(own) == 6
    assert {(r.valid, r.cpu_per_success_s, r.nulls["cpu_per_success_s"]) for r in own} == {(True, None, NO_COUNTERS)}
    assert all(record.cpu_per_success_s for record in records if record.service == names[0])
    verdicts = [json.loads(line) for line in (tmp_path / "a-run/verdicts.jsonl").read_text().splitlines()]
    ranks = {line["service"]: line["rank"] for line in verdicts if "rank" in line}
    assert sorted(ranks, key=lambda name: ranks[name]) == [names[0], NAME, names[1]]
    assert "Its tables are ranked by requests/s" in words_of(tmp_path / "a-run")
    report = (tmp_path / "a-run/report.md").read_text()
    assert f"| {NAME} | -33 % | 2,000 | – | – |" in report
    assert "**Which server and framework? (Python 3.13, debian)**" in report
    assert "Python unknown" not in report


@pytest.mark.parametrize("name", ["vary", "target"])
def test_a_run_of_compose_alone_refuses_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_CONTAINERS", raising=False)
    value = {"vary": "WORKERS=1,2", "target": "http://127.0.0.1:8000"}[name]
    with pytest.raises(UserError, match=f"--{name} needs containers of its own"):
        plan_verb([f"--{name}", value])
