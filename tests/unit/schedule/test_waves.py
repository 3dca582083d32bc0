"""Steps side by side: which lane runs which step, and what each call of `next` records and writes."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from captured import Capture
from loop_runs import FIRST, SECOND, ask, begun, block, finish, finish_block, null, solo, step_id, steps

from bench.load.task import read_step
from bench.run.folder import lane_folder
from bench.schedule.steps import Step, dealt, next_wave

STACKS = ("aiohttp", "tornado", "cherrypy", "uvicorn-asgi")


def nothing_out(_step: Step) -> bool:
    return False


def test_lanes_have_the_same_to_do_and_are_drawn_anew_for_each_seed() -> None:
    every = steps(line for number in range(1, 9) for line in block(1, STACKS[:2], number=number))
    drawn = [dealt(every, 4, f"1 {number}") for number in range(1, 41)]
    assert all(Counter(found.values()) == {1: 2, 2: 2, 3: 2, 4: 2} for found in drawn)
    assert dealt(every, 4, "1 1") == drawn[0]
    # Over the seeds, each block is dealt to every lane.
    assert all({found[step.id] for found in drawn} == {1, 2, 3, 4} for step in every)


def test_windows_alone_that_are_compared_stay_on_one_lane() -> None:
    loads = enumerate(product(STACKS, ("c8", "c64")), 1)
    alone = steps([solo(stack, number, level=level) for number, (stack, level) in loads])
    for seed in range(20):
        found = dealt(alone, 2, str(seed))
        assert len({found[step.id] for step in alone[:2]}) == 1
        assert Counter(found.values()) == {1: 4, 2: 4}


def test_a_wave_has_a_step_of_each_lane_and_no_service_twice() -> None:
    alone = steps([solo("aiohttp", 1), solo("aiohttp", 2, scenario="text"), solo("tornado", 3), null(4), null(5)])
    ids = {number: step.id for number, step in enumerate(alone, 1)}
    lane_of = {ids[1]: 1, ids[2]: 2, ids[3]: 2, ids[4]: 3, ids[5]: 4}
    wave = next_wave(alone, lane_of, nothing_out)
    assert {lane: step.id for lane, step in wave.items()} == {1: ids[1], 2: ids[3], 3: ids[4]}
    # A step that is not loaded does not hold up others.
    out = next_wave(alone, lane_of, lambda step: step.id == ids[1])
    assert {lane: step.id for lane, step in out.items()} == {2: ids[2], 3: ids[4]}


def test_shares_of_a_knee_wait_for_all_searches_of_the_first_round() -> None:
    first, second = (
        steps([solo("aiohttp", 1, number), solo("tornado", 2, number, knee_share=0.7)]) for number in (1, 2)
    )
    assert list(next_wave(first, {step.id: lane for lane, step in enumerate(first, 1)}, nothing_out)) == [1]
    assert list(next_wave(second, {step.id: lane for lane, step in enumerate(second, 1)}, nothing_out)) == [1, 2]
    assert [*next_wave(first[1:], {first[1].id: 2}, nothing_out)] == [2]
    # Also if all steps that it would wait for are not loaded.
    assert [*next_wave(first, {first[0].id: 1, first[1].id: 2}, lambda step: step is first[0])] == [2]


def end_lane(folder: Path, lane: int, lines: list[dict[str, Any]], node: str) -> None:
    """Write the files that the host leaves after a lane's step; call it last for the first lane."""
    finish_block(folder, lines, {line["service"]: 1000 for line in lines}, node=node)
    if lane > 1:
        (folder / "finished.json").rename(lane_folder(folder, lane) / "finished.json")


def test_each_lane_has_a_step_file_and_what_all_have_made_is_recorded(tmp_path: Path, capsys: Capture) -> None:
    each = product((1, 2), ((1, STACKS[:2]), (2, STACKS[2:])))
    plans = {f"r{number:02}-b{b}": block(number, stacks, number=b) for number, (b, stacks) in each}
    plan = [line for lines in plans.values() for line in lines]
    folder = begun(tmp_path / "a-run", capsys, *plan, options=["--lanes", "2"], rounds=2, seed=1)
    seen = []
    for number in (1, 2):
        ids = {lane: step_id(lane_folder(folder, lane)) for lane in (1, 2)}
        assert set(ids.values()) == {f"r{number:02}-b1", f"r{number:02}-b2"}
        for lane, id_ in sorted(ids.items(), reverse=True):
            assert len(read_step(str(lane_folder(folder, lane))).planned) == 2
            end_lane(folder, lane, plans[id_], f"node-{lane}")
        status, said = ask(folder, capsys, 10 * number)
        seen += said
        assert status == (0 if number == 1 else 3)
    assert len(seen) == 4 and "; 0 not valid" in seen[-1]
    assert seen[-1].startswith("[4/4] round 2, 2 services in turns: json wrk c16: 2 of 2 windows valid; requests/s: ")
    assert len([*folder.rglob("meta.json")]) == 8
    assert not [*folder.glob("**/step.*"), *folder.glob("**/finished.json"), *folder.glob("**/loop.json")]


def test_a_lane_without_a_step_has_no_step_file(tmp_path: Path, capsys: Capture) -> None:
    one, two, three = block(1, STACKS[:2], number=1), block(1, STACKS[2:], number=2), block(2, STACKS[:2], number=1)
    plan = [*one, *two, *three]
    folder = begun(tmp_path / "a-run", capsys, *plan, options=["--lanes", "2"], rounds=2, seed=1)
    for lane in (2, 1):
        end_lane(folder, lane, one if step_id(lane_folder(folder, lane)) == "r01-b1" else two, "node")
    assert ask(folder, capsys, 1)[0] == 0
    assert sorted(path.parent.name for path in folder.glob("**/step.json")) in (["2"], ["a-run"])


def test_what_other_lanes_made_when_one_was_lost_is_recorded_by_the_next_call(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path / "a-run", capsys, FIRST, SECOND, options=["--lanes", "2"], seed=1)
    ended = FIRST if step_id(lane_folder(folder, 2)) == FIRST["id"] else SECOND
    finish(folder, [ended], [3000], node="node-5")
    (folder / "finished.json").rename(lane_folder(folder, 2) / "finished.json")
    assert ask(folder, capsys, 0, "--begin") == (0, [])
    assert '"node": "node-5"' in (folder / ended["dir"] / "meta.json").read_text()
    assert step_id(folder) == (SECOND if ended is FIRST else FIRST)["id"]


def test_a_step_that_is_measured_again_stays_on_its_lane(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path / "a-run", capsys, FIRST, SECOND, options=["--lanes", "2"], seed=1)
    lanes = {lane: step_id(lane_folder(folder, lane)) for lane in (1, 2)}
    for lane, id_ in sorted(lanes.items(), reverse=True):
        lost = {"ended_dependencies": ("postgres",)} if lane == 2 else {}
        finish(folder, [FIRST if id_ == FIRST["id"] else SECOND], [3000], **lost)
        if lane == 2:
            (folder / "finished.json").rename(lane_folder(folder, 2) / "finished.json")
    status, said = ask(folder, capsys, 1)
    assert status == 0
    assert sum("to be measured again, because postgres ended" in line for line in said) == 1
    assert step_id(lane_folder(folder, 2)) == lanes[2] and not (folder / "step.json").exists()
