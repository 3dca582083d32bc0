"""step.sh: sourced by a real bash, it gives back exactly what the plan says, whatever the plan says."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.core.errors import UserError
from bench.drive.step_file import load_values, plain, step_file, write_step

SOLO: Mapping[str, Any] = {
    "id": "r01-0003",
    "service": "svc-a",
    "scenario": "json",
    "method": "GET",
    "path": "/json",
    "body": None,
    "tool": "wrk",
    "level": "c32",
    "connections": 32,
    "count": None,
    "rate": None,
    "duration_s": 5.0,
    "timeout_s": 2.0,
    "threads": 1,
    "keepalive": True,
    "warmup_s": 1.0,
    "dir": "raw/r01/svc-a/json/wrk-c32",
}
HOSTILE = (
    "",
    " ",
    "'",
    '"',
    "a'b\"c",
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a\nb\n",
    "\\",
    "\\n",
    "*",
    "~",
    "[ID]=x",
    "(a b)",
    ")",
    "; exit 7",
    "#",
    "!!",
    "-n",
    "\x01\x02\x7f\x1b[0m",
    "\t\r",
    "é ß 日本 🙂 \u2028",
    "=",
    "a=b",
)


def sourced(folder: Path, text: str, names: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """The STEP_ variables and the loads that bash has after it sourced the file."""
    file = folder / "step.sh"
    file.write_text(text)
    script = r"""
        set -euo pipefail
        source "$1"
        shift
        printf '%s\0' "$STEP_ID" "$STEP_MODE" "$STEP_LABEL" "$STEP_DIR"
        for array in STEP_SERVICES STEP_LOADS; do
            declare -n values=$array
            printf '%s\0' "${#values[@]}" "${values[@]}"
        done
        for name in "$@"; do
            declare -n load=$name
            printf '%s\0' "${#load[@]}"
            for key in "${!load[@]}"; do printf '%s\0' "$key" "${load[$key]}"; done
        done
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(file), *names],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": "/home"},
        capture_output=True,
        check=True,
    )
    assert not done.stderr
    words = iter(done.stdout.decode().split("\0")[:-1])
    step: dict[str, Any] = {name: next(words) for name in ("id", "mode", "label", "dir")}
    for name in ("services", "loads"):
        step[name] = [next(words) for _ in range(int(next(words)))]
    loads = {name: {next(words): next(words) for _ in range(int(next(words)))} for name in names}
    assert next(words, None) is None
    return step, loads


def block(**change: Any) -> list[dict[str, Any]]:
    """Two windows of two services."""
    return [
        {
            **SOLO,
            "id": f"r01-b1-json-wrk-c32-w{window}-{slot}",
            "unit": "r01-b1",
            "mode": "turns",
            "service": f"svc-{slot}",
            "round": 1,
            "window": window,
            "slot": slot,
            "dir": f"raw/r01/blocks/b1/json/wrk-c32/w{window}/svc-{slot}",
            **change,
        }
        for window in (1, 2)
        for slot in (1, 2)
    ]


def test_a_solo_step(tmp_path: Path) -> None:
    step, loads = sourced(tmp_path, step_file([SOLO]), ["LOAD"])
    assert step == {
        "id": "r01-0003",
        "mode": "solo",
        "label": "svc-a json wrk c32",
        "dir": "raw/r01/svc-a/json/wrk-c32",
        "services": ["svc-a"],
        "loads": [""],
    }
    assert loads["LOAD"] == {
        "ID": "r01-0003",
        "DIR": "raw/r01/svc-a/json/wrk-c32",
        "URL": "http://svc-a:8080/json",
        "METHOD": "GET",
        "BODY": "",
        "REQUESTS": "",
        "TARGETS": "",
        "TOOL": "wrk",
        "CONNECTIONS": "32",
        "COUNT": "",
        "RATE": "",
        "RATE_PER_CONNECTION": "",
        "DURATION": "5",
        "TIMEOUT": "2",
        "THREADS": "1",
        "WARMUP": "1",
        "KEEPALIVE": "true",
        "DEADLINE": "17",
        "KNEE_P99": "",
        "KNEE_SHARE": "",
    }


def test_a_block(tmp_path: Path) -> None:
    names = [f"LOAD_r01_b1_json_wrk_c32_w{window}_{slot}" for window in (1, 2) for slot in (1, 2)]
    step, loads = sourced(tmp_path, step_file(block()), names)
    assert step == {
        "id": "r01-b1",
        "mode": "turns",
        "label": "round 1, 2 services in turns: json wrk c32",
        "dir": "raw/r01/blocks/b1",
        "services": ["svc-1", "svc-2"],
        "loads": [name.removeprefix("LOAD_") for name in names],
    }
    assert [(loads[n]["ID"][-4:], loads[n]["URL"]) for n in names] == [
        ("w1-1", "http://svc-1:8080/json"),
        ("w1-2", "http://svc-2:8080/json"),
        ("w2-1", "http://svc-1:8080/json"),
        ("w2-2", "http://svc-2:8080/json"),
    ]


def test_the_null_server_has_a_mode_of_its_own(tmp_path: Path) -> None:
    step, _ = sourced(tmp_path, step_file([{**SOLO, "mode": "null", "service": "null"}]))
    assert (step["mode"], step["services"]) == ("null", ["null"])


@pytest.mark.parametrize("value", HOSTILE)
def test_any_text_comes_back_as_it_is(value: str, tmp_path: Path) -> None:
    keys = ("id", "service", "method", "path", "body", "tool", "dir", "scenario", "level")
    line = {**SOLO, **{key: f"{value}{key}{value}" for key in keys}, "body": value, "method": value or "GET"}
    step, loads = sourced(tmp_path, step_file([line]), ["LOAD"])
    assert loads["LOAD"] == load_values(line, 10, 600)
    assert loads["LOAD"]["BODY"] == value
    assert loads["LOAD"]["URL"] == f"http://{line['service']}:8080{line['path']}"
    assert (step["id"], step["dir"], step["services"]) == (line["id"], line["dir"], [line["service"]])
    assert step["label"] == f"{line['service']} {line['scenario']} {line['tool']} {line['level']}"
    assert os.listdir(tmp_path) == ["step.sh"]


def test_random_text_comes_back_as_it_is(tmp_path: Path) -> None:
    rng = random.Random(1)
    for _ in range(40):
        alphabet = "'\"\\$`()[]{}=;&|<>!#~*?\n\t ab" + chr(rng.randrange(1, 0xD800)) + chr(rng.randrange(1, 128))
        words = ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(4)]
        line = {**SOLO, "id": words[0], "service": words[1], "body": words[2], "dir": words[3]}
        step, loads = sourced(tmp_path, step_file([line]), ["LOAD"])
        assert [loads["LOAD"]["ID"], loads["LOAD"]["BODY"], loads["LOAD"]["DIR"]] == [words[0], words[2], words[3]]
        assert step["services"] == [words[1]]


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_what_bash_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(UserError, match="the plan holds"):
        step_file([{**SOLO, "body": value}])


@pytest.mark.parametrize(
    "value, text",
    [(None, ""), (5, "5"), (5.0, "5"), (0.5, "0.5"), (2.5, "2.5"), (0.0, "0"), (True, "true"), (False, "false")],
)
def test_numbers_are_written_as_tools_take_them(value: float | None, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"duration_s": 5, "timeout_s": 2}, "17"),
        ({"duration_s": 0.5, "timeout_s": 1.25}, "11.75"),
        ({"duration_s": None, "count": 1000}, "600"),
    ],
)
def test_deadlines(change: Mapping[str, Any], expected: str) -> None:
    assert load_values({**SOLO, **change}, 10, 600)["DEADLINE"] == expected


def test_the_environment_sets_the_deadlines(tmp_path: Path) -> None:
    write_step(tmp_path, [SOLO], {"GRACE": "-1"})
    assert "[DEADLINE]=6 " in (tmp_path / "step.sh").read_text()
    write_step(tmp_path, [{**SOLO, "duration_s": None}], {"COUNT_DEADLINE": "1"})
    assert "[DEADLINE]=1 " in (tmp_path / "step.sh").read_text()
    write_step(tmp_path, [SOLO], {"GRACE": ""})
    assert "[DEADLINE]=17 " in (tmp_path / "step.sh").read_text()
    assert os.listdir(tmp_path) == ["step.sh"]
    with pytest.raises(UserError, match="GRACE=soon is not a number of seconds"):
        write_step(tmp_path, [SOLO], {"GRACE": "soon"})


def test_on_two_machines_a_service_is_asked_at_its_port(tmp_path: Path) -> None:
    (tmp_path / "addresses.tsv").write_text(f"{SOLO['service']}\t198.18.83.1:21003\n")
    write_step(tmp_path, [SOLO], {})
    _, loads = sourced(tmp_path, (tmp_path / "step.sh").read_text(), ["LOAD"])
    assert loads["LOAD"]["URL"] == f"http://198.18.83.1:21003{SOLO['path']}"
    write_step(tmp_path, [{**SOLO, "service": "another"}], {})
    assert "http://another:8080/" in (tmp_path / "step.sh").read_text()


def test_a_rate_is_shared_by_the_connections() -> None:
    assert load_values({**SOLO, "rate": 20, "connections": 8}, 10, 600)["RATE_PER_CONNECTION"] == "2.5"
    assert load_values({**SOLO, "rate": 8000, "connections": 100}, 10, 600)["RATE_PER_CONNECTION"] == "80"
    assert load_values({**SOLO, "rate": 20, "connections": None}, 10, 600)["RATE_PER_CONNECTION"] == ""


def test_lines_that_are_not_one_step_are_refused() -> None:
    for lines in (
        [SOLO, SOLO],
        [SOLO, {**SOLO, "id": "r01-0004"}],
        [*block(), block()[0]],
        [*block(), *block(unit="x")],
    ):
        with pytest.raises(UserError, match="are not one step"):
            step_file(lines)


def test_a_line_without_a_timeout_is_refused() -> None:
    with pytest.raises(UserError, match="r01-0003 of the plan has no timeout_s"):
        step_file([{**SOLO, "timeout_s": None}])


def test_lines_may_come_straight_from_json() -> None:
    lines = [json.loads(json.dumps(line, separators=(",", ":"))) for line in block()]
    assert step_file(lines) == step_file(block())
