"""With --max-time, tables that are begun reach their look: those that cannot within the time are postponed."""

from __future__ import annotations

from pathlib import Path

from captured import Capture
from loop_runs import ask, block, finish_block, steps, tables_of
from make_run import write_run

from bench.schedule.steps import Step, in_time
from bench.tools.levels import Level, LoadKey

STACKS = ("aiohttp", "tornado")

JSON, RAW = (LoadKey(scenario, "wrk", Level.read("c16")) for scenario in ("json", "db-raw"))


def tables(rounds: int) -> tuple[Step, ...]:
    """Two tables in the same blocks: 10 s per round, 5 s for each table."""
    return steps(line for number in range(1, rounds + 1) for line in block(number, STACKS, ("json", "db-raw")))


def scenarios(kept: tuple[Step, ...]) -> set[str]:
    return {line.scenario for step in kept for line in step.lines}


def test_as_many_tables_as_get_their_first_look() -> None:
    every, both = tables(12), {"json", "db-raw"}
    # Enough, just enough, enough for one, just for one, and for none.
    for seconds, found in {1000: both, 60: both, 59: {"json"}, 30: {"json"}, 29: both}.items():
        assert scenarios(in_time(every, every, seconds)) == found, seconds


def test_what_is_begun_comes_before_what_is_not() -> None:
    every = tables(12)
    left = [kept for step in every if (kept := step.without([JSON] if step.round > 6 else []))]
    left = [kept for s in left if (kept := s.without([RAW] if s.round <= 5 else []))]
    # db-raw has five rounds, one less than its look needs; json had its look after six.
    assert scenarios(in_time(every, left, 14)) == {"db-raw"}
    assert scenarios(in_time(every, left, 15)) == {"json", "db-raw"}


def test_a_run_that_has_time_for_one_table_gives_it_all_of_it(tmp_path: Path, capsys: Capture) -> None:
    lines = [line for number in range(1, 7) for line in block(number, STACKS, ("json", "db-raw"))]
    folder = write_run(tmp_path / "run", lines, tables_in_turns=tables_of(lines, 6, [6]))
    status, now = ask(folder, capsys, 0, "--begin", "--max-time", "35")[0], 0.0
    seen = []
    while status == 0:
        text = (folder / "step.json").read_text()
        kept = [line for line in lines if f'"{line["id"]}"' in text]
        seen.append({line["scenario"] for line in kept})
        now += 5 * len(seen[-1])
        finish_block(folder, kept, {line["service"]: 3000.0 for line in kept})
        status = ask(folder, capsys, now)[0]
    assert seen == [{"json"}] * 6 + [{"db-raw"}], "the look after six rounds, and what the rest of the time is good for"
