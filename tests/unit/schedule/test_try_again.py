"""What `--resume` tries again: failed services that may pass now, and the windows that they missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, printed
from loop_runs import NAMES, RATES, STACKS, a_run, ask, begun, block, finish_block, solo, write_services
from make_run import mark_measured

from bench.load.task import read_step
from bench.run.reader import RUNNING_ANSWERS, read_run

UNBORN = {"outcome": "did not start", "detail": "no image"}
WRONG = {"outcome": "failed verification", "detail": "not ok"}


def fail(folder: Path, name: str, failure: dict[str, Any], **files: str) -> Path:
    """The service's folder, with failure.json and these files (`verify_json`: verify.json)."""
    own = folder / "raw/services" / name
    (own / "failure.json").write_text(json.dumps(failure))
    for file, text in files.items():
        (own / file.replace("_", ".")).write_text(text)
    return own


def retry(folder: Path, capsys: Capture) -> str:
    return printed(capsys, "retry", str(folder)).strip()


def test_what_may_pass_is_tried_again_and_a_wrong_answer_is_final(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, *(solo(stack, number) for number, stack in enumerate(STACKS, 1)))
    unborn = fail(folder, NAMES[0], UNBORN, start_log="no image", image_id="sha256:1")
    liar = fail(folder, NAMES[1], WRONG | {"final": True}, verify_json='{"failed": 1}')
    late = fail(folder, NAMES[2], WRONG, verify_json='{"failed": 1}')
    assert retry(folder, capsys) == f"2 services that failed are tried again: {NAMES[0]}, {NAMES[2]}"
    assert {"failure.json", "start.log", "image.id"} <= {path.name for path in (unborn / "failed-1").iterdir()}
    assert [path.name for path in unborn.iterdir()] == [path.name for path in late.iterdir()] == ["failed-1"]
    assert (liar / "failure.json").exists() and (liar / "verify.json").exists()
    assert retry(folder, capsys) == ""
    fail(folder, NAMES[0], UNBORN)
    assert retry(folder, capsys) == f"1 service that failed is tried again: {NAMES[0]}"
    assert {path.name for path in unborn.iterdir()} == {"failed-1", "failed-2"}


def test_a_failure_that_was_written_by_half_is_tried_again(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, solo("aiohttp", 1))
    (folder / "raw/services" / NAMES[0] / "failure.json").write_text('{"outc')
    assert "1 service that failed is tried again" in retry(folder, capsys)


def test_a_server_that_already_runs_keeps_what_it_has_to_answer(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, solo("aiohttp", 1))
    own = fail(folder, NAMES[0], {"outcome": "does not answer", "detail": ""})
    (own / RUNNING_ANSWERS).write_text("{}")
    assert "is tried again" in retry(folder, capsys)
    assert (own / RUNNING_ANSWERS).exists() and not (own / "failure.json").exists()


def test_a_service_that_was_measured_keeps_its_image_and_its_verification(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, solo("aiohttp", 1))
    own = fail(folder, NAMES[0], UNBORN, verify_json='{"failed": 0}', image_id="sha256:1")
    retry(folder, capsys)
    assert (own / "verify.json").exists() and (own / "image.id").exists() and not (own / "failure.json").exists()


def test_many_names_are_counted(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path)
    services: dict[str, Any] = {f"app{number:02}": {} for number in range(11)}
    write_services(folder, services)
    for name in services:
        (folder / "raw/services" / name).mkdir(parents=True)
        fail(folder, name, UNBORN)
    assert retry(folder, capsys).endswith("app06, app07 and 3 more")


def without_tornado(root: Path, capsys: Capture, lines: list[dict[str, Any]]) -> Path:
    """A run whose block has ended, for which one service did not start."""
    folder = a_run(root, *lines)
    fail(folder, NAMES[1], UNBORN)
    ask(folder, capsys, 0, "--begin")
    finish_block(folder, [line for line in lines if line["service"] != NAMES[1]], RATES)
    return folder


def test_windows_in_turns_that_a_service_missed_are_loaded_again_with_all(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS, ("json", "db-raw"))
    folder = without_tornado(tmp_path, capsys, lines)
    assert ask(folder, capsys, 10)[0] == 3
    assert ask(folder, capsys, 0, "--begin") == (3, []), "without the service nothing is missing"
    words = "2 windows in turns without it will be loaded again with it"
    assert retry(folder, capsys) == f"1 service that failed is tried again: {NAMES[1]}; {words}"
    # It passes: there is no failure.json.
    assert ask(folder, capsys, 0, "--begin")[0] == 0
    assert len(read_step(str(folder)).planned) == len(lines)
    first = folder / lines[0]["dir"]
    kept = first.parent.with_name(f"{first.parent.name}.incomplete-1") / first.name
    assert (kept / "meta.json").exists() and not first.exists(), "what was measured first stays, beside it"
    finish_block(folder, lines, RATES)
    assert ask(folder, capsys, 10)[0] == 3 and ask(folder, capsys, 0, "--begin") == (3, [])
    assert read_run(str(folder)).measured_again == 0, "it was not noise"


def test_what_fails_again_takes_no_window_away(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS)
    folder = without_tornado(tmp_path, capsys, lines)
    ask(folder, capsys, 10)
    retry(folder, capsys)
    fail(folder, NAMES[1], UNBORN)
    assert ask(folder, capsys, 0, "--begin") == (3, [])
    assert (folder / lines[0]["dir"] / "meta.json").exists()


def test_a_service_that_died_in_a_window_does_not_reopen_it(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS)
    folder = begun(tmp_path, capsys, *lines)
    finish_block(folder, [lines[0], lines[2]], RATES, ended=(NAMES[1],))
    assert ask(folder, capsys, 10)[0] == 3 and ask(folder, capsys, 0, "--begin") == (3, [])


@pytest.mark.parametrize("outcomes", [("did not start",), ("did not start", "died")])
def test_a_run_that_measured_nothing_says_why(tmp_path: Path, capsys: Capture, outcomes: tuple[str, ...]) -> None:
    lines = [solo(stack, number) for number, stack in enumerate(STACKS[: len(outcomes)], 1)]
    folder = a_run(tmp_path, *lines)
    said = printed(capsys, "nothing-measured", str(folder))
    assert said == "nothing was measured before the run ended\n", "what was not begun has not failed"
    fail(folder, NAMES[0], UNBORN)
    for line, outcome in zip(lines[1:], outcomes[1:], strict=True):
        (folder / line["dir"]).mkdir(parents=True)
        (folder / line["dir"] / "meta.json").write_text(json.dumps({"outcome": outcome}))
    words = {1: f"{NAMES[0]} was not measured", 2: "none of the 2 services could be measured"}
    said = printed(capsys, "nothing-measured", str(folder))
    assert said == f"{words[len(outcomes)]}; report.md says why\n"
    (folder / lines[-1]["dir"]).mkdir(parents=True, exist_ok=True)
    mark_measured(folder, lines[-1])
    assert printed(capsys, "nothing-measured", str(folder)) == "\n"
