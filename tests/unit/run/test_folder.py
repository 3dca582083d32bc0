"""A run by name or path: any name gives a folder in results/, or one line that says why not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from built_runs import write_a_run_of_each_tool
from captured import Capture, printed, refused
from loop_runs import FACTS
from make_run import entry, write_run
from places import ROOT
from tables import cases

from bench.__main__ import main
from bench.cli import repeat
from bench.core.errors import UserError
from bench.run.folder import find_run, host_and_port, read_addresses

HARNESS = "0123456789abcdef"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(repeat, "harness_hash", lambda: HARNESS)
    made("results/a-run")
    return tmp_path


def made(name: str) -> Path:
    return write_run(Path(name), [entry()], services={"aiohttp-py313-debian": FACTS})


NOT_RUNS = (
    *[".", "..", "../..", "/", "-x", "--max-time", "~", "a-run/../nope", "$(id)", "results"],
    *("", "a b", "x\ny", "a-run\n", "\u202ex", "a" * 5000),
)


@pytest.mark.parametrize("verb", ["find", "resume", "build"])
@pytest.mark.parametrize("name", NOT_RUNS, ids=range(len(NOT_RUNS)))
def test_what_is_no_run_is_one_line(verb: str, name: str, capsys: Capture) -> None:
    assert main([verb, f"--run={name}" if verb == "resume" else name]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.endswith(" ls results results/published lists all\n")
    assert err[:-1].isprintable() and len(err) < 1020


@pytest.mark.parametrize(
    "name",
    ["a-run", "results/a-run", "/elsewhere/results/a-run", "results/../results/./a-run/", "results/a-run/raw/.."],
)
def test_a_run_is_found_by_its_name_and_by_any_path_to_it(name: str, capsys: Capture) -> None:
    assert printed(capsys, "find", name) == "a-run\n"
    assert printed(capsys, "resume", f"--run={name}", "--max-time", "2") == "a-run 120\n"


def test_a_run_that_goes_on_takes_no_option_of_a_new_one(capsys: Capture) -> None:
    Path("scripts").symlink_to(ROOT / "scripts")
    words = "bench: unrecognized arguments: --preset quick; see scripts/matrix.sh --help\n"
    assert printed(capsys, "resume", "--run=a-run", "--preset", "quick", status=2) == words


@pytest.mark.parametrize("name", ["x\ny", "a\u2028b", "a\x1b[31m", "\x85a", os.fsdecode(b"a\xff")])
def test_a_name_that_cannot_be_shown_is_refused(name: str, capsys: Capture) -> None:
    made(f"results/{name}")
    for verb in ("find", "build"):
        told = printed(capsys, verb, f"results/{name}", status=2)
        assert told.endswith(" has a name that cannot be shown: rename it\n") and told[:-1].isprintable()
    with pytest.raises(UserError, match=r"unknown run 'b-run'; did you mean a-run\? ls"):
        find_run("b-run")


@pytest.mark.parametrize("name", ["my run", "-x", "a'b", "$(id)", "A", "שלום", "a\u202eb", "a.b"])
def test_any_other_name_has_its_report_and_goes_on_under_one_that_compose_takes(name: str, capsys: Capture) -> None:
    folder = made(f"results/{name}")
    assert printed(capsys, "find", name) == f"{name}\n"
    assert printed(capsys, "build", name) == "" and (folder / "report.md").exists()
    shown = name.replace("\u202e", r"\u202e")
    words = f"bench: cannot resume '{shown}': rename it, using only a-z, 0-9, '-' and '_'\n"
    assert printed(capsys, "resume", f"--run={name}", status=2) == words


def test_a_run_elsewhere_is_not_taken_for_one_of_its_name(capsys: Capture) -> None:
    for name in ("elsewhere/a-run", "elsewhere/other"):
        made(name)
        words = f"bench: {name} is not in results/: move it there\n"
        assert printed(capsys, "find", name, status=2) == words


def publish(name: str, source: str = "a-run") -> Path:
    """Publish a run like scripts/publish.sh does."""
    folder = Path("results/published", name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_bytes(Path("results", source, "run.json").read_bytes())
    (folder / "report.md").touch()
    with tarfile.open(folder / "raw.tar.xz", "w:xz") as files:
        for part in ("raw", "plan.jsonl"):
            files.add(Path("results", source, part), part)
    return folder


def test_a_published_run_is_opened_by_its_name(capsys: Capture) -> None:
    published = publish("told")
    for name in ("told", "results/published/told", str(published.resolve()), "results/.published/told"):
        assert printed(capsys, "find", name) == ".published/told\n"
    for verb in (["build", "--quiet"], ["export", "csv"], ["again"], ["comparable", "a-run"]):
        assert main([*verb, "told"]) == 0, verb
    capsys.readouterr()
    assert sorted(path.name for path in published.iterdir()) == ["raw.tar.xz", "report.md", "run.json"]
    # Without a report, as in a clean clone.
    shutil.rmtree("results/.published")
    assert "aiohttp" in printed(capsys, "export", "csv", "told")
    said = printed(capsys, "resume", "--run=told", status=2)
    assert "told is a published run and cannot be resumed: repeat it with --again told" in said


def test_a_published_run_is_unpacked_again_where_its_archive_has_changed() -> None:
    publish("told")
    folder = find_run("told")
    (folder / "kept").touch()
    assert find_run("told") == folder and (folder / "kept").exists()
    made("results/b-run")
    (Path("results/b-run/raw") / "new").touch()
    publish("told", "b-run")
    assert find_run("told") == folder and (folder / "raw/new").exists() and not (folder / "kept").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["told"]


def test_a_run_goes_before_a_published_one_of_its_name() -> None:
    publish("a-run")
    assert find_run("a-run") == Path("results/a-run")
    assert find_run("results/published/a-run") == Path("results/.published/a-run")


def test_an_archive_that_is_cut_is_one_line_and_leaves_nothing() -> None:
    folder = publish("told")
    (folder / "raw.tar.xz").write_bytes((folder / "raw.tar.xz").read_bytes()[:60])
    assert "raw.tar.xz cannot be unpacked" in str(refused(UserError, find_run, "told"))
    assert list(Path("results/.published").iterdir()) == []


EDITED = {"plan.jsonl": [{}], "run.json": [{"x]=1); touch pwned; y=([z": None}, {"a": {}}, None]}


@pytest.mark.parametrize(("services", "file"), cases(EDITED))
def test_a_run_whose_plan_was_edited_does_not_go_on(file: str, services: object, capsys: Capture) -> None:
    folder = Path("results/a-run")
    facts = json.loads((folder / "run.json").read_text())
    if file == "run.json":
        (folder / file).write_text(json.dumps(facts | {"services": services}))
    else:
        (folder / "run.json").write_text(json.dumps(facts | {"sha256": {"plan.jsonl": "0" * 64}}))
    words = f"bench: a-run was edited after it was planned, start a new run: {file}\n"
    assert printed(capsys, "resume", "--run=a-run", status=2) == words
    for facts in ({}, {"harness": 3}, {"harness": {"hash": "x", "version": [3]}}):
        (folder / "run.json").write_text(json.dumps(facts))
        said = printed(capsys, "resume", "--run=a-run", status=2)
        assert "the project has changed since a-run was planned" in said


def test_addresses_of_a_run(tmp_path: Path) -> None:
    assert read_addresses(tmp_path) == {}
    (tmp_path / "addresses.tsv").write_text("web\t198.18.83.1:21000\n")
    assert read_addresses(tmp_path) == {"web": "198.18.83.1:21000"}
    assert host_and_port("counters-server", 7070) == ("counters-server", 7070)
    assert host_and_port("198.18.83.1:21000", 7070) == ("198.18.83.1", 21000)
    (tmp_path / "addresses.tsv").write_text("web 198.18.83.1:21000\n")
    assert "no lines of names and addresses" in str(refused(UserError, read_addresses, tmp_path))


def test_what_stands_beside_an_archive_is_made_from_it_and_the_site_has_it(project: Path, capsys: Capture) -> None:
    (project / "services").symlink_to(ROOT / "services")
    write_a_run_of_each_tool(Path("results/of-each"))
    published = publish("told", "of-each")
    words = "results/published/told has no answers.json: make it with scripts/publish.sh --rebuild told"
    assert printed(capsys, "site", "site", status=2) == f"bench: {words}\n"
    said = printed(capsys, "publish", "tolt", status=2)
    assert said.startswith("bench: unknown published run 'tolt'")
    assert main(["publish"]) == 0
    made_from = ["answers.json", "index.html", "records.sha256", "report.md", "verdicts.jsonl"]
    assert sorted(path.name for path in published.iterdir()) == sorted([*made_from, "raw.tar.xz", "run.json"])
    records = Path("results/.published/told/records.jsonl").read_bytes()
    assert (published / "records.sha256").read_text() == f"{hashlib.sha256(records).hexdigest()}  records.jsonl\n"
    assert main(["site", "site"]) == 0
    data = ["records.jsonl", "records.parquet", "verdicts.jsonl"]
    placed = sorted(["index.html", "raw.tar.xz", "run.json", *data])
    assert sorted(path.name for path in Path("site/told").iterdir()) == placed
    assert 'href="told/index.html"' in Path("site/index.html").read_text()
