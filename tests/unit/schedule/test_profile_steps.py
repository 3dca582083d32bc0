"""The windows of --profile: which ones, in what order, and what remains if a call is interrupted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from built_runs import lines_of
from captured import Capture
from loop_runs import step_of, write_finished, write_services
from profiled_run import STACKS_OF, first_of, write_profile, write_profiled

from bench.__main__ import main
from bench.load.task import read_step
from bench.plan.profile import STACKS, UNDER_WAY

AIOHTTP, TORNADO = (f"raw/profiles/{stack}-py313-debian-json-wrk-c16" for stack in ("aiohttp", "tornado"))


def ask(folder: Path, *options: str) -> int:
    return main(["profile-next", str(folder), *options])


def finish(folder: Path, stack: str) -> None:
    """Write the files that the host leaves after a window."""
    made = write_profile(folder, first_of(lines_of(folder), stack), STACKS_OF[stack], 3000)
    (made / "meta.json").unlink()
    step = made.parents[3]
    shutil.rmtree(step.with_name(step.name + UNDER_WAY), ignore_errors=True)
    step.rename(step.with_name(step.name + UNDER_WAY))
    name = f"profile-{stack}-py313-debian-json-wrk-c16"
    write_finished(folder, id=name, statuses={"run": 0}, end_ns=9)


def window(folder: Path, step: str) -> Path:
    """The measurement's folder within its step's."""
    (found,) = (folder / step).glob("json/wrk-c16/w1/*")
    return found


def test_each_service_of_a_table_is_loaded_once_more_into_a_whole_folder(tmp_path: Path, capsys: Capture) -> None:
    folder = write_profiled(tmp_path / "a-run", {})
    assert ask(folder, "--begin") == 0
    first = "sampling aiohttp-py313-debian json wrk c16"
    assert capsys.readouterr().out == f"sampling 2 services under the load of their tables\n{first}\n"
    assert (step_of(folder)["held"], step_of(folder)["dir"]) == (False, f"{AIOHTTP}{UNDER_WAY}")
    (planned,) = read_step(str(folder)).planned.values()
    assert (planned.duration_s, planned.count) == (10, None)
    finish(folder, "aiohttp")
    assert ask(folder) == 0
    assert json.loads((window(folder, AIOHTTP) / "meta.json").read_text())["outcome"] == "measured"
    assert not (folder / f"{AIOHTTP}{UNDER_WAY}").exists() and step_of(folder)["services"] == ["tornado-py313-debian"]
    finish(folder, "tornado")
    assert ask(folder) == 3
    assert {path.name for path in folder.iterdir()} == {"run.json", "plan.jsonl", "raw"}


def test_a_call_that_goes_on_makes_what_is_missing_and_what_failed(tmp_path: Path, capsys: Capture) -> None:
    folder = write_profiled(tmp_path / "a-run", {"aiohttp": STACKS_OF["aiohttp"]})
    (folder / f"{TORNADO}{UNDER_WAY}").mkdir(parents=True)
    (folder / f"{TORNADO}{UNDER_WAY}" / "output.txt").write_text("cut")
    write_finished(folder, id="another", end_ns=2)
    assert ask(folder, "--begin") == 0
    assert "sampling tornado-py313-debian json wrk c16" in capsys.readouterr().out
    assert not (folder / f"{TORNADO}{UNDER_WAY}").exists()
    (window(folder, AIOHTTP) / STACKS).unlink()
    assert ask(folder, "--begin") == 0
    assert "sampling aiohttp-py313-debian" in capsys.readouterr().out


def test_a_service_that_others_kept_from_its_cpu_is_sampled_once_more(tmp_path: Path) -> None:
    folder = write_profiled(tmp_path / "a-run", {})
    assert ask(folder, "--begin") == 0
    seen = []
    for _ in range(3):
        stack = step_of(folder)["services"][0].partition("-")[0]
        seen.append(stack)
        finish(folder, stack)
        step = folder / f"{AIOHTTP if stack == 'aiohttp' else TORNADO}{UNDER_WAY}"
        after = step / f"services/{stack}-py313-debian.after"
        if stack == "aiohttp":
            after.write_text(after.read_text().replace("cpu_usage_ns 15", "cpu_usage_ns 6"))
        status = ask(folder)
    assert (seen, status) == (["aiohttp", "tornado", "aiohttp"], 3)
    assert (window(folder, AIOHTTP) / "meta.json").exists()


def test_what_cannot_be_sampled_is_said_in_a_line(tmp_path: Path, capsys: Capture) -> None:
    folder = write_profiled(tmp_path / "a-run", {})
    write_services(folder, {"aiohttp-py313-debian": {"python": "pypy3.11"}})
    failed = folder / "raw/services/tornado-py313-debian/failure.json"
    failed.write_text('{"outcome": "failed verification", "detail": "no"}')
    assert ask(folder, "--begin") == 3
    assert capsys.readouterr().out == "aiohttp-py313-debian is not sampled: py-spy cannot sample PyPy\n"


def test_a_run_without_profiles_has_nothing_to_do(tmp_path: Path) -> None:
    assert ask(write_profiled(tmp_path / "a-run", {}, profile=False), "--begin") == 3
    assert main(["profile-next"]) == 2
