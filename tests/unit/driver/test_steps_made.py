"""A step, alone and in turns: what is started, pinned, loaded and removed, its files, and how failures are handled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from loop_engine import LoopEngine, loop, metas, outcomes
from loop_runs import NAMES, STACKS, block, make_loop, solo

from driver.docker import DockerError
from driver.failure import Failure

ONE, TWO = (f"r01/{step}/json/wrk-c64/w1/{name}" for step, name in zip(("0001", "0002"), NAMES, strict=False))
BLOCK = "results/a-run/raw/r01/b1"
WINDOW = f"{BLOCK}/json/wrk-c16/w1"


def engine_of(root: Path, plan: Sequence[dict[str, Any]], rates: Sequence[float]) -> LoopEngine:
    make_loop(root, plan, rates)
    return LoopEngine(root)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_BEGAN", "0")
    monkeypatch.setenv("BENCH_QUIET", "1")


@pytest.fixture
def alone(tmp_path: Path) -> LoopEngine:
    return engine_of(tmp_path, [solo("aiohttp", 1), solo("tornado", 2)], [3000, 4000])


@pytest.fixture
def turns(tmp_path: Path) -> LoopEngine:
    return engine_of(tmp_path, block(1, STACKS), [3000, 4000, 5000])


def test_a_service_alone_is_started_fresh_prepared_loaded_and_removed(alone: LoopEngine, tmp_path: Path) -> None:
    assert loop(alone) == 3
    name = NAMES[0]
    assert alone.calls("restore", "start", "exec", "state", "stop")[:11] == [
        "restore",
        f"start {name} loadgen",
        "exec loadgen/measure prepare results/a-run",
        *(states := [f"state {one}" for one in (name, "postgres", "upstream")]),
        "exec loadgen/measure run results/a-run",
        *states,
        f"stop {name}",
    ]
    meta = metas(tmp_path)[ONE]
    begin, loaded, end = (meta.pop(f"{what}_ns") for what in ("begin", "loaded", "end"))
    assert 10**18 < begin < loaded < end
    done = {"schema": 1, "id": "r01-0001", "outcome": "measured", "detail": "", "image_id": f"sha256:{name}"}
    assert meta == done | {"started_ns": 2, "ready_ns": 3, "warm_ns": 4}
    services = tmp_path / "results/a-run/raw/r01/0001/services"
    assert "running true\n" in (services / f"{name}.after").read_text() and not [*services.glob("*.log")]
    assert (services / "postgres.before").read_text() and (services / "upstream.after").read_text()
    files = {path.name for path in (tmp_path / "results/a-run").iterdir() if path.is_file()}
    assert files == {"plan.jsonl", "run.json"}


def test_a_service_alone_that_fails_is_an_outcome_and_the_run_goes_on(alone: LoopEngine, tmp_path: Path) -> None:
    alone.broken, alone.said = {NAMES[0]}, {"prepare r01-0002": (11, "measure: got 500")}
    assert loop(alone) == 3
    unstarted = ("did not start", f"no such image: {NAMES[0]}")
    assert outcomes(tmp_path) == [unstarted, ("answers wrongly", "measure: got 500")]
    assert len(alone.calls("exec")) == 1 and len(alone.calls("stop")) == 2
    # Its counters up to then may explain the failure.
    assert (tmp_path / f"results/a-run/raw/r01/0002/services/{NAMES[1]}.after").exists()
    alone.broken, alone.dead, alone.said = set(), {NAMES[0]}, {"run": (12, "measure: it is wrong")}
    assert loop_again(alone) == 3
    died = ("died", f"its container ended; last log line: last words of {NAMES[0]}")
    assert outcomes(tmp_path) == [died, ("load tool failed", "measure: it is wrong")]


def loop_again(engine: LoopEngine) -> int:
    """Run the loop as another call of the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_BEGAN", "1")
        return loop(engine)


def test_order_of_calls_for_services_in_turns(turns: LoopEngine, tmp_path: Path) -> None:
    assert loop(turns) == 3
    names = " ".join(NAMES)
    states = [f"state {name}" for name in (*NAMES, "postgres", "upstream")]
    assert [call for call in turns.calls() if not call.startswith("bench")] == [
        "restore",
        f"start {names} loadgen any-cpu",
        "exec loadgen/measure prepare results/a-run",
        f"pin {names}",
        *(f"look {names}", *states),
        f"freezer-opens {names}",
        "exec loadgen/measure run results/a-run",
        "freezer-closes",
        *(f"look {names}", *states),
        # After the counters are read, because it uses CPU time.
        "start-bench",
        f"look {names}",
        f"stop {names}",
        "check",
    ]
    assert outcomes(tmp_path) == [("measured", "")] * 3
    assert "running true\n" in (tmp_path / BLOCK / "services" / f"{NAMES[1]}.before").read_text()
    assert not [*(tmp_path / "results/a-run").glob("step.*"), *(tmp_path / "results/a-run").glob("finished*")]


def test_service_that_does_not_start_leaves_the_others(turns: LoopEngine, tmp_path: Path) -> None:
    turns.broken = {NAMES[1]}
    (tmp_path / "made").joinpath(WINDOW.removeprefix("results/a-run/"), NAMES[1], "tool.json").unlink()
    assert loop(turns) == 3
    assert outcomes(tmp_path) == [("measured", ""), ("did not start", f"no such image: {NAMES[1]}"), ("measured", "")]
    assert turns.calls("pin") == [f"pin {NAMES[0]} {NAMES[2]}"] and NAMES[1] in turns.calls("stop")[0]
    assert not (tmp_path / BLOCK / "services" / f"{NAMES[1]}.before").exists()


def test_where_none_starts_nothing_is_asked(turns: LoopEngine, tmp_path: Path) -> None:
    turns.broken = set(NAMES)
    assert loop(turns) == 3
    assert outcomes(tmp_path) == [("did not start", f"no such image: {name}") for name in NAMES]
    assert turns.calls("exec", "pin", "look") == []


def test_one_that_dies_in_its_turns_has_its_last_words(turns: LoopEngine, tmp_path: Path) -> None:
    turns.dead = {NAMES[1]}
    (tmp_path / "made").joinpath(WINDOW.removeprefix("results/a-run/"), NAMES[1], "tool.json").unlink()
    assert loop(turns) == 3
    died = ("died", f"its container ended; last log line: last words of {NAMES[1]}")
    assert outcomes(tmp_path) == [("measured", ""), died, ("measured", "")]
    assert "running false\n" in (tmp_path / BLOCK / "services" / f"{NAMES[1]}.after").read_text()
    assert [path.name for path in (tmp_path / BLOCK / "services").glob("*.log")] == [f"{NAMES[1]}.log"]


@pytest.mark.parametrize("verb", ["prepare", "run"])
def test_failed_turns_say_why_and_are_repeated_on_resume(verb: str, turns: LoopEngine, tmp_path: Path) -> None:
    turns.said = {verb: (1, "OSError: no space")}
    assert loop(turns) == 3
    assert outcomes(tmp_path) == [("load tool failed", "OSError: no space")] * 3
    assert len(turns.calls("freezer-closes")) == (verb == "run") and len(turns.calls("stop")) == 1
    turns.said = {}
    assert loop_again(turns) == 3 and outcomes(tmp_path) == [("measured", "")] * 3


@pytest.mark.parametrize("kind", ["alone", "turns"])
def test_service_lost_by_the_network_is_repeated(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    engine: LoopEngine = request.getfixturevalue(kind)
    engine.lost, engine.said = {NAMES[0]}, {"prepare r01-0001": (10, "no answer")}
    engine.when["check"] = lambda: (engine.lost.clear(), engine.said.clear())
    assert loop(engine) == 3 and set(outcomes(tmp_path)) == {("measured", "")}
    assert len(list((tmp_path / "results/a-run/raw").rglob("*.lost-1"))) == 1


def test_what_all_services_need_and_has_ended_has_the_step_measured_again(alone: LoopEngine, tmp_path: Path) -> None:
    alone.ended_now = ("postgres",)
    alone.when["stop"] = lambda: setattr(alone, "ended_now", () if len(alone.calls("stop")) > 1 else ("postgres",))
    assert loop(alone) == 3
    assert len(alone.calls("start")) == 3 and outcomes(tmp_path) == [("measured", "")] * 2


def test_on_several_machines_it_is_kept_where_the_service_was(alone: LoopEngine, tmp_path: Path) -> None:
    (tmp_path / "results/a-run/nodes.tsv").write_text("server\tnode-5\tctx\t198.18.0.5\tkind\n")
    assert loop(alone) == 3 and metas(tmp_path)[ONE]["node"] == "node-5"


@pytest.mark.parametrize("what", ["start", "pin", "state", "stop", "check"])
def test_engine_failure_ends_the_run_without_a_record(what: str, turns: LoopEngine, tmp_path: Path) -> None:
    turns.fails = {what}
    with pytest.raises(DockerError, match=f"no {what}"):
        loop(turns)
    assert metas(tmp_path) == {} and not (tmp_path / "results/a-run/finished.json").exists()
    assert turns.calls("check")[-1] == ("check" if what == "check" else "check failed")


def test_a_run_that_cannot_be_written_to_ends(alone: LoopEngine, tmp_path: Path) -> None:
    alone.when["bench"] = lambda: (tmp_path / "results/a-run/raw/r01").symlink_to("/proc/nowhere")
    with pytest.raises((Failure, OSError)):
        loop(alone)
    assert alone.calls("start") == []


def test_a_server_that_already_runs_needs_no_fresh_load_generator(tmp_path: Path) -> None:
    running = {"service": "target-a", "url": "http://127.0.0.1:8000", "host_network": True}
    engine = engine_of(tmp_path, [solo("aiohttp", 1, **running)], [3000])
    assert loop(engine) == 3 and engine.calls("start") == ["start target-a host-network"]
