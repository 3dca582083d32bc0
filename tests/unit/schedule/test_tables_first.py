"""The order of a run: tables in turns come first, so that a time limit does not cost the answer."""

from __future__ import annotations

from pathlib import Path

from captured import Capture
from loop_runs import ask, block, finish_block, solo, step_id, tables_of
from make_run import write_run


def test_all_rounds_of_the_tables_come_first(tmp_path: Path, capsys: Capture) -> None:
    rounds = [block(number, ("aiohttp", "tornado")) for number in (1, 2)]
    alone = solo("aiohttp", 1, level="c64")
    lines = [alone, *rounds[0], *rounds[1]]
    folder = write_run(tmp_path, lines, tables_in_turns=tables_of(rounds[0], 2), mode="turns", rounds=1)
    options = ["--begin"]
    for number, made in enumerate(rounds):
        assert ask(folder, capsys, 10 * number, *options)[0] == 0
        assert step_id(folder) == made[0]["unit"]
        finish_block(folder, made, {line["service"]: 3000.0 for line in made})
        options = []
    assert ask(folder, capsys, 40)[0] == 0 and step_id(folder) == alone["id"]
