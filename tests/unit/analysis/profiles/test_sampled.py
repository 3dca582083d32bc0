"""Profiles of a run's tables: which services are sampled, what each function costs, and why a profile is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from built_runs import lines_of
from profiled_run import RATES, SAMPLER, STACKS_OF, first_of, write_profile, write_profiled
from turns_runs import ranking_of, service_of

from bench.analysis.profiles.sampled import Profile, cannot_sample, nearest_the_top, profiles_of, sampled_services
from bench.analysis.profiles.why import Why, explanations
from bench.export.judged_run import judge_run
from bench.run.facts import RunService


def profiles(folder: Path) -> dict[str, Profile]:
    judged = judge_run(folder)
    found = profiles_of(judged.source, judged.services, judged.rankings[0].ranking)
    return {one.service.removesuffix("-py313-debian"): one for one in found}


def why(folder: Path) -> Why:
    judged = judge_run(folder)
    (found,) = explanations(judged.rankings[0].ranking, [*profiles(folder).values()], judged.records)
    return found


def test_a_functions_cost_is_its_share_of_the_cpu_time_of_its_window(tmp_path: Path) -> None:
    found = why(write_profiled(tmp_path / "a-run"))
    assert (found.base.service, found.head.service) == (service_of("aiohttp"), service_of("tornado"))
    assert found.base.cost_us == pytest.approx(1e6 / 3000) and found.head.cost_us == pytest.approx(1e6 / 2600)
    # Not the profiling window's cost per request, because that includes the sampling.
    assert found.costs is not None and found.costs.base == pytest.approx(0.9e6 / 3000, rel=0.01)
    first = found.functions[0]
    assert first.name == "app.py:slow" and first.shift.base == 0
    assert first.shift.head == pytest.approx(0.9e6 / 2600 * 540 / 2000, rel=0.01)
    assert first.shift.low < first.shift.difference < first.shift.high
    # The remaining difference of 1 % in dumps may be chance.
    assert "json/__init__.py:dumps" not in [one.name for one in found.functions]
    assert found.within >= 1
    assert found.packages and found.packages[0].name in ("app.py", "asyncio")


def test_equal_services_have_no_finding(tmp_path: Path) -> None:
    same = dict.fromkeys(STACKS_OF, STACKS_OF["aiohttp"])
    found = why(write_profiled(tmp_path / "a-run", same, dict.fromkeys(RATES, 3000.0)))
    assert found.functions == () and found.packages == () and found.within == 3


def test_too_few_rounds_say_nothing_of_chance(tmp_path: Path) -> None:
    found = why(write_profiled(tmp_path / "a-run", rounds=2))
    assert "fewer than three rounds" in found.missing and not found.functions


@pytest.mark.parametrize(
    ("stacks", "said", "words"),
    [
        ("", "Error: Unsupported version of Python: 3.15.0\n", "py-spy failed: Error: Unsupported version of Python"),
        ("", "", "py-spy failed: it said nothing"),
        ("run (app.py:1) 99\n", SAMPLER, "only 99 samples of running Python code"),
    ],
)
def test_what_could_not_be_sampled_says_why(tmp_path: Path, stacks: str, said: str, words: str) -> None:
    folder = write_profiled(tmp_path / "a-run", {"aiohttp": STACKS_OF["aiohttp"]})
    write_profile(folder, first_of(lines_of(folder), "tornado"), stacks, 2600, said)
    assert profiles(folder)["tornado"].missing.startswith(words)
    assert not profiles(folder)["aiohttp"].missing


def test_a_window_with_errors_is_no_profile_nor_is_one_that_was_not_made(tmp_path: Path) -> None:
    folder = write_profiled(tmp_path / "a-run", {})
    place = write_profile(folder, first_of(lines_of(folder), "aiohttp"), STACKS_OF["aiohttp"], 3000)
    text = (place / "output.txt").read_text().replace("Requests/sec", "  Non-2xx or 3xx responses: 9000\nRequests/sec")
    (place / "output.txt").write_text(text)
    found = profiles(folder)
    assert found["aiohttp"].missing.startswith("errors: 9000 of 30000")
    assert found["tornado"].missing == "its window was not made"


def test_threads_without_python_are_no_function(tmp_path: Path) -> None:
    """Half of the samples that this CPU time should give: functions that are seen keep their cost."""
    half = "\n".join(line[:-1] if line else "" for line in STACKS_OF["aiohttp"].split("\n"))
    found = profiles(write_profiled(tmp_path / "a-run", {"aiohttp": half, "tornado": STACKS_OF["tornado"]}))
    assert found["tornado"].seen == 1.0
    assert found["aiohttp"].seen == pytest.approx(0.1) and found["aiohttp"].samples == 2000


def test_recordings_that_differ_count_for_less(tmp_path: Path) -> None:
    same = "run (app.py:1) 200\nburn (app.py:2) 200\n"
    parts = "\n".join((same.replace("200", "100", 1), same, same.replace("200", "300", 1), same, same))
    found = profiles(write_profiled(tmp_path / "a-run", {"aiohttp": f"{same}\n" * 5, "tornado": parts}))
    assert found["aiohttp"].alike == 1.0 and found["aiohttp"].samples == 2000
    assert found["tornado"].alike > 10 and found["tornado"].samples == 2000


def test_a_service_that_had_to_wait_for_a_cpu_has_no_profile_unless_it_used_them_all(tmp_path: Path) -> None:
    folder = write_profiled(tmp_path / "a-run")
    two = write_profiled(tmp_path / "two", knobs={"SERVER_CPUS": "0-1"})
    assert [one.missing for one in profiles(folder).values()] == [""] * 2
    assert "had to wait" not in profiles(two)["aiohttp"].missing
    for run in (folder, two):
        after = run / "raw/profiles/aiohttp-py313-debian-json-wrk-c16/services/aiohttp-py313-debian.after"
        after.write_text(after.read_text().replace("cpu_usage_ns 15", "cpu_usage_ns 10"))
        words = "it had to wait for a CPU that other programs used for 50% of its time"
        assert profiles(run)["aiohttp"].missing == words
    busy = dict.fromkeys(STACKS_OF, STACKS_OF["aiohttp"] + STACKS_OF["tornado"])
    assert not profiles(write_profiled(tmp_path / "workers", busy))["aiohttp"].missing


def test_a_run_without_profiles_has_none(tmp_path: Path) -> None:
    assert profiles(write_profiled(tmp_path / "a-run", profile=False)) == {}


def test_of_a_large_table_the_sides_of_the_called_contrasts_nearest_its_top_are_sampled() -> None:
    speeds = {"bjoern-wsgi": 9000, "uvicorn-asgi": 8990, "aiohttp": 6000, "tornado": 4000, "cherrypy": 3000}
    speeds |= {"gunicorn-sync-wsgi": 2500, "gunicorn-sync-flask": 2000, "gunicorn-gevent-flask": 1500}
    speeds |= {"werkzeug-flask": 700, "proxy-py": 500}
    ranking = ranking_of(speeds, 8)
    chosen = sampled_services(ranking)
    assert chosen == [service_of(stack) for stack in [*speeds][:8]]
    first = nearest_the_top(ranking)[0]
    assert first.verdict in ("faster", "slower") and service_of("aiohttp") in (first.a, first.b)
    few = replace(ranking, rows=ranking.rows[:3])
    assert sampled_services(few) == [row.service for row in ranking.rows[:3]]
    open_ones = tuple(replace(one, verdict="no winner") for one in ranking.contrasts)
    assert sampled_services(replace(ranking, contrasts=open_ones)) == chosen


def test_what_cannot_be_sampled_at_all() -> None:
    services = RunService(python="pypy3.11"), RunService(url="http://127.0.0.1:1"), RunService(python="3.13")
    said = ["py-spy cannot sample PyPy", "it is not a container of this project", ""]
    assert [*map(cannot_sample, services)] == said


def test_profiles_are_read_where_the_plan_was_damaged(tmp_path: Path) -> None:
    folder = write_profiled(tmp_path / "a-run")
    kept = [line for line in (folder / "plan.jsonl").read_text().splitlines() if "tornado" not in line]
    (folder / "plan.jsonl").write_text("\n".join(kept))
    assert all(one.missing for stack, one in profiles(folder).items() if stack == "tornado")
