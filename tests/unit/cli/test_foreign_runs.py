"""Runs and archives that somebody else made: nothing outside of them is read, and none fills memory or disk."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
from pathlib import Path

import pytest
from built_runs import build, lines_of, write_a_run_of_each_tool
from captured import Capture, printed

from bench.__main__ import main
from bench.run import published
from bench.run.folder import find_run

SECRET = "url = https://user:ghp_SECRETTOKEN@example.org/x"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(SECRET)
    return write_a_run_of_each_tool(tmp_path / "results/a-run")


def place_of(folder: Path, name: str) -> Path:
    """`OUTPUT` stands for the raw output of the first measurement, `CELL` for its folder."""
    cell = folder / lines_of(folder)[0]["dir"]
    return cell if name == "CELL" else cell / "output.txt" if name == "OUTPUT" else folder / name


@pytest.mark.parametrize("target", ["../.git/config", "/proc/self/environ", "/dev/zero", "results/nowhere"])
@pytest.mark.parametrize("name", ["OUTPUT", "CELL", "verdicts.jsonl", "raw/services/new", "x\ny", "changed-parts.txt"])
def test_no_verb_reads_through_a_link(name: str, target: str, folder: Path, tmp_path: Path, capfd: Capture) -> None:
    build(folder)
    place, kept = place_of(folder, name), tmp_path / "kept"
    if place.exists():
        place.rename(kept)
    place.symlink_to(os.path.relpath(tmp_path / target, place.parent) if target[0] != "/" else target)
    written = (folder / "report.md").read_text()
    for words in ("build", "export csv", "export events-csv", "comparable a-run", "resume --run=a-run"):
        assert main(words.split() if "=" in words else [*words.split(), "a-run"]) == 2, words
        said = capfd.readouterr()
        assert "is a link, which could lead out of its folder: remove it" in said.err, words
        assert "ghp_" not in said.out + said.err
    assert (folder / "report.md").read_text() == written
    place.unlink()
    if kept.exists():
        kept.rename(place)
    assert main(["build", "--quiet", "a-run"]) == 0


def test_no_verb_waits_for_a_pipe(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build(folder)
    os.mkfifo(folder / "events.jsonl")
    said = printed(capfd, "export", "events-csv", "a-run", status=2)
    assert "events.jsonl: it is a pipe, which may never end" in said
    main(["build", "a-run"])


def publish(members: dict[str, bytes], head: bytes = b"") -> Path:
    """A published run whose archive has these members, after `head`."""
    place = Path("results/published/evil")
    place.mkdir(parents=True)
    (place / "run.json").write_text("{}")
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w") as files:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            files.addfile(entry, io.BytesIO(data))
    (place / "raw.tar.xz").write_bytes(lzma.compress(head + text.getvalue(), preset=0))
    return place


def refused(capsys: Capture) -> str:
    said = printed(capsys, "build", "evil", status=2)
    assert [path.name for path in Path("results/.published").iterdir()] == []
    return said


def test_archive_limits_of_bytes_and_files(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    publish({"raw/a": bytes(3 << 20), "raw/b": bytes(3 << 20), "plan.jsonl": b""})
    assert find_run("evil").name == "evil"
    for limit, most in (("MOST_UNPACKED", 5 << 20), ("MOST_FILES", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(published, limit, most)
            main(["build", "other"])
            for made in Path("results/.published").iterdir():
                made.rename(folder.parent / f"gone-{limit}")
            assert "evil/raw.tar.xz cannot be unpacked: it has more than" in refused(capsys)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_that_unpacks_to_more_than_memory_is_not_read(kind: bytes, folder: Path, capsys: Capture) -> None:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = kind, 65 << 20
    publish({"raw/a": b""}, head=entry.tobuf(tarfile.GNU_FORMAT) + bytes(entry.size))
    assert "cannot be unpacked: it has more than" in refused(capsys)


@pytest.mark.parametrize("name", ["raw.tar.xz", "run.json", "report.md"])
def test_a_link_beside_an_archive_is_refused(name: str, folder: Path, capsys: Capture) -> None:
    place = publish({"plan.jsonl": b"", "raw/x": b""}) / name
    moved = place.rename("elsewhere") if place.exists() else Path(".git/config")
    place.symlink_to(moved.resolve())
    assert f"{name} is a link" in printed(capsys, "build", "evil", status=2)
