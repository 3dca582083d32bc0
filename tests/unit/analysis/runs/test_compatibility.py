"""Whether two runs may be compared, according to their own facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from captured import Capture
from make_run import output_of, plan_lines, write_measured, write_measurement, write_run

from bench.cli.compare import comparable_verb, compare_verb
from bench.cli.report import build_verb
from bench.core.errors import UserError

HOST = {"cpu": "a CPU", "cpus": 2, "memory_bytes": 8_000_000_000, "kernel": "6.1.0", "governor": None}
FACTS: dict[str, Any] = {
    "knobs": {"WORKERS": "1", "SEED": "1", "PYTHON_IMAGE": "python"},
    "harness": {"version": "v1", "hash": "0" * 64, "parts": {"loadgen": "1", "services": "2"}}
    | {"images": {"bench/loadgen": "a"}},
    "host": HOST | {"missing": {"governor": "not told"}},
}


Change = Callable[[Path, list[dict[str, Any]]], object]


def make(folder: Path, change: Change | None = None, **facts: Any) -> str:
    loads = product(("aiohttp", "tornado"), (("wrk", "c32"), ("vegeta", "r200")))
    lines = plan_lines(((stack, "json", *load) for stack, load in loads), timeout_s=10.0, warmup_s=1.0)
    write_measured(folder, lines, 1000, **FACTS | facts)
    if change:
        change(folder, lines)
    return str(folder)


def told(one: str, other: str, capsys: Capture) -> tuple[int, list[str]]:
    status = comparable_verb([one, other])
    return status, capsys.readouterr().out.splitlines()


def test_a_run_and_its_twin_are_comparable(tmp_path: Path, capsys: Capture) -> None:
    assert told(make(tmp_path / "a"), make(tmp_path / "b"), capsys) == (0, ["comparable"])


def test_runs_on_nodes_of_different_kinds_are_not_comparable(tmp_path: Path, capsys: Capture) -> None:
    def on(*nodes: str) -> Change:
        return lambda folder, _: (folder / "nodes-ever.tsv").write_text("".join(f"{node}\n" for node in nodes))

    small, large = "server\tone\tone\t198.51.100.1\t2 CPUs", "server\ttwo\ttwo\t198.51.100.2\t8 CPUs"
    assert told(make(tmp_path / "a", on(small)), make(tmp_path / "b", on(small, large)), capsys) == (0, ["comparable"])
    status, lines = told(str(tmp_path / "a"), make(tmp_path / "c", on(large)), capsys)
    assert status == 1 and "incompatible: kind of node for server: 2 CPUs vs 8 CPUs" in lines
    assert told(str(tmp_path / "a"), make(tmp_path / "d"), capsys)[1][0].endswith("2 CPUs vs unknown")


@pytest.mark.parametrize("built", [False, True], ids=["raw", "records"])
def test_records_and_raw_files_say_the_same(built: bool, tmp_path: Path, capsys: Capture) -> None:
    def renewed(folder: Path, lines: list[dict[str, Any]]) -> None:
        write_measurement(folder, lines[0], output_of(lines[0], 1000), tool={"tool_version": "2.0"})

    one, other = make(tmp_path / "a"), make(tmp_path / "b", renewed)
    if built:
        build_verb([one])
        build_verb([other])
    status, lines = told(one, other, capsys)
    assert status == 1 and lines[0].startswith("incompatible: version of wrk: 1.0 vs 1.0, 2.0")


def test_a_service_of_other_settings_is_another_one(tmp_path: Path, capsys: Capture) -> None:
    name = "aiohttp-py313-debian"
    one, other = (make(tmp_path / n, services={name: {"settings": f"WORKERS={n}"}}) for n in ("2", "4"))
    status, lines = told(one, other, capsys)
    assert (status, lines[0]) == (1, f"incompatible: settings of {name}: WORKERS=2 vs WORKERS=4")


def replanned(**changes: Any) -> Change:
    return lambda folder, lines: (folder / "plan.jsonl").write_text(
        "".join(json.dumps(line | changes) + "\n" for line in lines)
    )


def in_services(name: str, text: str) -> Change:
    return lambda folder, _: (folder / "raw/services/aiohttp-py313-debian" / name).write_text(text)


def another_image(folder: Path, lines: list[dict[str, Any]]) -> None:
    for line in lines[:2]:
        meta = {"image_id": "sha256:" + 32 * "ef"}
        write_measurement(folder, line, output_of(line, line["rate"] or 1000), meta=meta)


HARNESS = FACTS["harness"]
OTHER_HARNESS = HARNESS | {"hash": "1" * 64, "parts": {"loadgen": "1", "services": "3"}}


DIFFERENCES = [
    ("harness: v1 (000000000000) vs v1 (111111111111) (services)", None, {"harness": OTHER_HARNESS}),
    ("image of bench/loadgen", None, {"harness": HARNESS | {"images": {"bench/loadgen": "b"}}}),
    ("containers", None, {"containers": "up for the whole run"}),
    ("engine", None, {"engine": "another"}),
    ("setting WORKERS", None, {"knobs": FACTS["knobs"] | {"WORKERS": "2"}}),
    ("setting NEW", None, {"knobs": FACTS["knobs"] | {"NEW": "x"}}),
    ("host cpu", None, {"host": HOST | {"cpu": "another CPU"}}),
    ("host kernel", None, {"host": HOST | {"kernel": "6.12"}}),
    ("host memory_bytes", None, {"host": HOST | {"memory_bytes": 4_000_000_000}}),
    ("host governor", None, {"host": HOST | {"governor": "performance"}}),
    ("duration_s of json wrk c32", replanned(duration_s=3.0), {}),
    ("warmup_s of json vegeta r200", replanned(warmup_s=2.0), {}),
    ("loads", replanned(scenario="plaintext"), {}),
    ("loads", replanned(mode="null"), {}),
    ("Python of aiohttp-py313-debian", in_services("python.txt", "Python 3.13.2"), {}),
    ("limits of aiohttp-py313-debian", in_services("limits.txt", "nofile 64\n"), {}),
    ("image of aiohttp-py313-debian", another_image, {}),
]


@pytest.mark.parametrize(("name", "change", "facts"), DIFFERENCES)
def test_what_affects_a_figure_forbids_a_comparison(
    name: str, change: Any, facts: dict[str, Any], tmp_path: Path, capsys: Capture
) -> None:
    status, lines = told(make(tmp_path / "a"), make(tmp_path / "b", change, **facts), capsys)
    assert status == 1
    assert [line for line in lines if line.startswith(f"incompatible: {name}")]
    assert lines[-1].startswith("not comparable: ") and name.partition(":")[0] in lines[-1]


def test_what_one_compares_on_purpose_is_noted(tmp_path: Path, capsys: Capture) -> None:
    def change(folder: Path, lines: list[dict[str, Any]]) -> None:
        in_services("packages.txt", "aiohttp==3.14.5\n")(folder, lines)
        another_image(folder, lines)

    knobs = FACTS["knobs"] | {"SEED": "7", "PYTHON_IMAGE": "a/mirror"}
    host = HOST | {"memory_bytes": 8_000_004_096}
    status, lines = told(make(tmp_path / "a"), make(tmp_path / "b", change, knobs=knobs, host=host), capsys)
    assert status == 0
    assert "noted: packages of aiohttp-py313-debian: aiohttp 3.13.5 vs aiohttp 3.14.5" in lines
    assert [line for line in lines if line.startswith("noted: image of aiohttp-py313-debian")]
    assert lines[-1] == "comparable"


def test_other_services_and_more_rounds_are_noted(tmp_path: Path, capsys: Capture) -> None:
    lines = plan_lines([("bjoern-wsgi", "json", "wrk", "c32")], 2, timeout_s=10.0, warmup_s=1.0)
    write_run(tmp_path / "b", lines, **FACTS)
    status, found = told(make(tmp_path / "a"), str(tmp_path / "b"), capsys)
    services = "aiohttp-py313-debian, tornado-py313-debian vs bjoern-wsgi-py313-debian"
    assert status == 0
    assert {f"noted: services in only one run: {services}", "noted: rounds: 1 vs 2"} <= {*found}


def test_a_plan_that_was_changed_by_hand_is_seen(tmp_path: Path, capsys: Capture) -> None:
    plan = (Path(make(tmp_path / "a")) / "plan.jsonl").read_bytes()
    hashes = {"plan.jsonl": hashlib.sha256(plan).hexdigest()}
    one = make(tmp_path / "b", sha256=hashes)
    assert told(one, make(tmp_path / "c", sha256=hashes), capsys)[0] == 0
    status, lines = told(one, make(tmp_path / "d", replanned(position=9), sha256=hashes), capsys)
    assert status == 1 and lines[0].startswith("incompatible: plan.jsonl: as planned vs modified")


def test_an_unreadable_records_file_is_built_again(tmp_path: Path, capsys: Capture) -> None:
    one, other = make(tmp_path / "a"), make(tmp_path / "b")
    (tmp_path / "b/records.jsonl").write_text('{"schema": 99}\n')
    assert told(one, other, capsys) == (0, ["comparable"])


@pytest.mark.parametrize("argv", [[], ["one"], ["no-such-run", "nor-this"]])
@pytest.mark.parametrize("verb", [comparable_verb, compare_verb])
def test_a_folder_that_is_no_run_is_the_users_fault(verb: Callable[[list[str]], int], argv: list[str]) -> None:
    with pytest.raises(UserError):
        verb(argv)
