"""A step during which a shared dependency ended is repeated a few times, and then has that as its cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captured import Capture
from loop_runs import FIRST, NAMES, RATES, SECOND, STACKS, ask, begun, block, finish, finish_block, step_id

from bench.run.retries import LOST_TRIES

UNREACHED = "answered on its own machine but not to the load generator"


def test_it_comes_again_at_the_end_of_its_round(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST, SECOND)
    finish(folder, [FIRST], [3000], ended_dependencies=("postgres",))
    status, said = ask(folder, capsys, 10)
    assert (status, step_id(folder)) == (0, SECOND["id"])
    assert said == ["aiohttp-py313-debian json wrk c64: to be measured again, because postgres ended during it"]
    first = folder / FIRST["dir"]
    assert not first.exists() and [*folder.glob("raw/r01/0001.lost-1/*/*/*/*/output.txt")]
    finish(folder, [SECOND], [4000])
    assert ask(folder, capsys, 20)[0] == 0 and step_id(folder) == FIRST["id"]
    finish(folder, [FIRST], [3000])
    assert ask(folder, capsys, 30)[0] == 3
    assert json.loads((first / "meta.json").read_text())["outcome"] == "measured"


def test_of_a_block_all_windows_come_again(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS)
    folder = begun(tmp_path, capsys, *lines)
    finish_block(folder, lines, RATES, ended_dependencies=("loadgen", "upstream"))
    status, said = ask(folder, capsys, 10)
    assert status == 0 and "because loadgen, upstream ended during it" in said[0]
    assert not list((folder / "raw/r01/b1").rglob("meta.json"))
    finish_block(folder, lines, RATES)
    assert ask(folder, capsys, 20)[0] == 3
    assert len(list((folder / "raw/r01/b1").rglob("meta.json"))) == len(lines)


CAUSES = {
    "ended_dependencies": ("postgres", "dependency ended", "postgres ended during it"),
    "unreached": (NAMES[1], "not reached", f"{NAMES[1]} {UNREACHED}"),
}


@pytest.mark.parametrize("kind", CAUSES)
def test_where_it_ends_every_time_that_is_the_cause(tmp_path: Path, capsys: Capture, kind: str) -> None:
    name, outcome, reason = CAUSES[kind]
    seen, lines = {kind: (name,)}, block(1, STACKS)
    folder = begun(tmp_path, capsys, *lines)
    for _ in range(LOST_TRIES):
        finish_block(folder, lines, RATES, **seen)
        status, said = ask(folder, capsys, 10)
        assert status == 0 and said[0].endswith(f"to be measured again, because {reason}")
    finish_block(folder, lines, RATES, **seen)
    assert ask(folder, capsys, 20)[0] == 3
    made = [json.loads(file.read_text()) for file in (folder / "raw/r01/b1").rglob("meta.json")]
    assert {(meta["outcome"], meta["detail"]) for meta in made} == {(outcome, reason)}
    # The next call tries it again.
    assert ask(folder, capsys, 0, "--begin")[0] == 0 and step_id(folder) == "r01-b1"


def test_a_loop_that_was_cut_there_measures_it_again(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST)
    finish(folder, [FIRST], [3000], ended_dependencies=("postgres",))
    assert ask(folder, capsys, 0, "--begin")[0] == 0
    assert step_id(folder) == FIRST["id"] and not (folder / FIRST["dir"] / "meta.json").exists()
