"""The windows of --profile: each service is loaded once more and sampled; failing to sample it is not a failure."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from built_runs import lines_of
from captured import Capture
from docker_calls import Docker
from loop_engine import LoopEngine, metas
from loop_runs import FACTS, write_services
from profiled_run import STACKS_OF, first_of, write_profile, write_profiled
from waiting import until

from driver.docker import INSPECTING
from driver.steps import sampler
from driver.steps.profile import main, profile_tables

NAMES = tuple(f"{stack}-py313-debian" for stack in STACKS_OF)
STACKS = "run (app.py:1) 200\n\n"
SAMPLER = "run --rm --name bench-a-run-sampler --label bench.run=bench-a-run --pid container:bench-a-run-"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker: Docker) -> LoopEngine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sampler, "CONNECTS_S", 0)
    knobs = {"BENCH_BEGAN": "0", "BENCH_PROJECT": "bench-a-run", "BENCH_ROOT": str(tmp_path), "LOADGEN_CPUS": "1"}
    for name, value in knobs.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BENCH_QUIET", raising=False)
    run = write_profiled(tmp_path / "results/a-run", profiles=False)
    write_services(run, dict.fromkeys(NAMES, FACTS))
    for stack in STACKS_OF:
        made = write_profile(tmp_path / "made", first_of(lines_of(run), stack), "", 3000)
        for name in ("meta.json", "sampler.txt", "stacks.txt"):
            (made / name).unlink(missing_ok=True)
        step = made.parents[3]
        shutil.rmtree(step / "services")
        step.rename(step.with_name(step.name + ".part"))
    docker.says("bench/loadgen", STACKS)
    return LoopEngine(tmp_path)


def folder(engine: LoopEngine, name: str) -> Path:
    return engine.run.folder / f"raw/profiles/{name}-json-wrk-c16/json/wrk-c16/w1" / name


def test_each_service_is_sampled(engine: LoopEngine, docker: Docker, tmp_path: Path, capsys: Capture) -> None:
    def until_sampled() -> None:
        loads = len([call for call in engine.calls("exec") if "measure run" in call])
        until(lambda: len(docker.asked(SAMPLER)) >= loads)

    engine.when["exec"] = until_sampled
    profile_tables(engine, None)
    assert capsys.readouterr().err.splitlines() == [
        "sampling 2 services under the load of their tables",
        *(f"sampling {name} json wrk c16" for name in NAMES),
    ]
    for name in NAMES:
        assert (folder(engine, name) / "stacks.txt").read_text() == STACKS
        assert docker.asked(f"update --cpu-shares 262144 bench-a-run-{name}-1")
        (call,) = docker.asked(f"{SAMPLER}{name}-1 ")
        assert f" --network none {' '.join(INSPECTING)} --workdir / --cpuset-cpus 1 bench/loadgen " in call
        assert call.endswith(f" sh {sampler.RATE} {sampler.SECONDS}")
    assert len(docker.asked("rm --force bench-a-run-sampler")) == 2
    profiles = [meta["outcome"] for meta in metas(tmp_path).values() if meta["id"].startswith("profile-")]
    assert profiles == ["measured"] * 2
    assert not [*engine.run.folder.rglob("*.part"), *engine.run.folder.glob("step.*")]


def test_failed_sampling_is_reported_and_the_next_goes_on(engine: LoopEngine, docker: Docker, capsys: Capture) -> None:
    docker.says("update", "no such container", status=1)
    profile_tables(engine, None)
    said = capsys.readouterr().err
    assert f"{NAMES[0]} is not sampled: no such container\nsampling {NAMES[1]}" in said
    assert not (folder(engine, NAMES[0]) / "stacks.txt").exists()


def test_a_load_that_fails_is_said_too(engine: LoopEngine, capsys: Capture) -> None:
    engine.said = {"run": (12, "measure: it is wrong\x1b")}
    profile_tables(engine, None)
    assert f"{NAMES[0]} is not sampled: measure: it is wrong\nsampling {NAMES[1]}" in capsys.readouterr().err
    assert json.loads((folder(engine, NAMES[0]) / "meta.json").read_text())["outcome"] == "load tool failed"


def test_no_window_begins_when_the_time_is_up(engine: LoopEngine, capsys: Capture) -> None:
    profile_tables(engine, 0.5)
    words = "the time is up (--max-time): not all services are profiled; resume with --resume a-run\n"
    assert capsys.readouterr().err == words and engine.calls() == []


def test_a_run_without_it_asks_nothing(engine: LoopEngine, docker: Docker) -> None:
    assert main(["a-run"]) == 0 and docker.calls == []
