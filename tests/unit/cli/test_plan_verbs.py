"""From a selection to a run: the state of the machine, the packages of --package, and the sample that tests verify."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from captured import Capture, printed
from contract_sample import sample
from places import ROOT

from bench.__main__ import main
from bench.analysis.runs.host_state import HostState, cpu_shares, host_state
from bench.cli.arguments import parse_selection
from bench.cli.plan import list_verb, make_run, plan_of, wanted_of
from bench.matrix.load import load_matrix
from bench.words.advice import LARGEST_IMAGE_MB, LARGEST_OF


def test_shares_are_those_between_two_readings() -> None:
    before, after = "cpu  10 0 10 100 0 0 0 0 0 0\n", "cpu  30 0 20 160 0 0 0 10 0 0\ncpu0 1 1 1 1\n"
    assert cpu_shares(before, after) == (pytest.approx(0.3), pytest.approx(0.1))
    assert cpu_shares(before, before) == cpu_shares("", after) == cpu_shares("cpu x", "cpu y") == (None, None)


def test_the_state_of_a_host_is_read_from_its_files(tmp_path: Path) -> None:
    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    put("proc/stat", "cpu  0 0 0 100 0 0 0 0 0 0\n")
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    put("sys/class/power_supply/BAT0/type", "Battery\n")
    put("sys/class/power_supply/BAT0/status", "Discharging\n")
    seen = host_state(tmp_path, lambda _: put("proc/stat", "cpu  50 0 0 150 0 0 0 0 0 0\n"))
    assert (seen.busy, seen.steal, seen.governors, seen.on_battery) == (0.5, 0.0, ("powersave",), True)
    bare = host_state(tmp_path / "nothing", lambda _: None)
    assert (bare.busy, bare.steal, bare.governors, bare.on_battery) == (None, None, (), None)


def test_what_is_wanted_is_read_from_the_plan(tmp_path: Path) -> None:
    options = parse_selection(["--quiet", "--stack", "aiohttp,tornado", "--scenario", "json", "--max-time", "1"])
    assert options.quiet and "--quiet" not in options.command_line
    plan, _, _ = plan_of(options)
    unknown = wanted_of(plan, options)
    assert (unknown.mode, unknown.services, unknown.tables, unknown.max_time_s) == ("turns", 2, 1, 60.0)
    options.images = frozenset[str]()
    missing = wanted_of(plan, options)
    assert missing.prepared_s > unknown.prepared_s > 0 and unknown.first_look_s > 0
    assert (unknown.images, missing.images) == (0, 2)
    options.images = frozenset(f"{service.image}:latest" for service in plan.services)
    assert wanted_of(plan, options) == unknown


def test_a_run_says_first_how_long_it_takes_and_what_has_to_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("BENCH_CONTAINERS", "1")
    monkeypatch.setattr("bench.cli.plan.host_state", HostState)
    monkeypatch.setattr("bench.run.folder.RESULTS", tmp_path)
    selection = ["--stack", "aiohttp,tornado", "--scenario", "json", "--tool", "wrk"]
    for verb in ("list", "plan"):
        # As standard input of a container, which can be read only once.
        os.mkfifo(pipe := tmp_path / verb)
        with ThreadPoolExecutor() as pool:
            pool.submit(pipe.write_text, "bench/aiohttp-py313-debian:latest python:3.13-slim")
            assert main([verb, f"--images={pipe}", *selection]) == 0
        printed = capsys.readouterr()
        said = printed.err.splitlines()
        summary, builds = (printed.out.splitlines()[-1], said[0]) if verb == "list" else said[:2]
        assert re.fullmatch(r"2 services, 1 table in turns x 6 to 12 rounds, 0 skipped, about .*", summary)
        size = "up to 296 MB of disk (the largest of 177 had 296 MB)"
        assert builds == f"before that, 1 minute to build 1 image and check them, {size}"


def test_the_largest_image_is_that_of_the_report_that_is_named() -> None:
    report = (ROOT / "results/published/all-py313-json/report.md").read_text()
    table = report.partition("| service | image size |\n")[2].partition("\n\n")[0]
    sizes = [int(size) for size in re.findall(r"\| (\d+) MB \|", table)]
    assert (max(sizes), len(sizes)) == (LARGEST_IMAGE_MB, LARGEST_OF)


def test_a_list_says_it_too(capsys: Capture) -> None:
    list_verb(["--preset", "quick", "--max-time", "1"])
    assert "--max-time 1 ends before the first verdicts" in capsys.readouterr().err
    list_verb(["--preset", "quick"])
    assert capsys.readouterr().err == ""


PYTHONS = {
    "": "py313 3.13\n",
    "--package ./any@thing --python 3.14,pypy*": "py314 3.14\npypy311 pypy3.11\n",
    "--preset quick --package a==1.*,2.*": "py313 3.13\n",
}


@pytest.mark.parametrize("selection", PYTHONS)
def test_the_pythons_of_a_selection(selection: str, capsys: Capture) -> None:
    assert printed(capsys, "package-pythons", *selection.split()) == PYTHONS[selection]


def test_an_unknown_preset_or_python_is_refused_before_anything_is_built(capsys: Capture) -> None:
    for options, words in (("--preset nope", "preset 'nope'"), ("--python 2.7", "Python '2.7'")):
        assert f"unknown {words}" in printed(capsys, "package-pythons", *options.split(), status=2)


def test_a_run_has_the_wheels_and_says_what_they_are(tmp_path: Path) -> None:
    items, out = tmp_path / "items", tmp_path / "out"
    (items / "0").mkdir(parents=True)
    (out / "py313/0-1").mkdir(parents=True)
    (items / "0/spec").write_text("./uvicorn")
    (items / "0/kind").write_text("folder")
    with zipfile.ZipFile(out / "py313/0-1/uvicorn-9.0-py3-none-any.whl", "w") as file:
        file.writestr("uvicorn-9.0.dist-info/METADATA", "Name: uvicorn\nVersion: 9.0\n")
    assert main(["packages", str(items), str(out), "py313"]) == 0
    run = make_run(parse_selection(["--package", "./uvicorn", f"--packages-in={out}"]), tmp_path / "run")
    # The run's folder is self-contained.
    shutil.rmtree(out)
    facts = json.loads((run / "run.json").read_text())
    (known,) = facts["packages"]
    assert facts["command"] == ["--package", "./uvicorn"]
    package = f"uvicorn==9.0+{known['content'][:7]}"
    wanted = {"name": "uvicorn", "version": "9.0", "from": "folder ./uvicorn", "package": package}
    assert known.items() >= wanted.items() and len(known["sha256"]) == 64
    assert [entry["package"] for entry in facts["services"].values()] == [None, package]
    assert (run / "packages" / known["folder"] / "uvicorn-9.0-py3-none-any.whl").is_file()
    lines = [json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines()]
    assert {line["package"] for line in lines if line["mode"] == "turns"} == {None, package}
    assert f"{run}/packages/py313/0-1" in (run / "services.yml").read_text()


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_every_server_every_framework_and_every_python_is_in_it_in_as_few_services_as_possible(seed: str) -> None:
    matrix, chosen = load_matrix(), sample(seed)
    assert not [s.name for s in chosen if s.skip or s.base != "debian"]
    on_default = [s for s in chosen if s.python == matrix.default_python]
    assert {s.server.name for s in on_default} == matrix.servers.keys()
    assert {s.framework.name for s in on_default} == matrix.frameworks.keys()
    assert len(on_default) == max(len(matrix.servers), len(matrix.frameworks))
    assert {s.python for s in chosen} == matrix.pythons.keys()
    assert len(chosen) == len(on_default) + len(matrix.pythons) - 1


def test_a_seed_draws_the_same_again_and_another_seed_others() -> None:
    first, again, other = ([service.name for service in sample(seed)] for seed in "112")
    assert first == again != other
