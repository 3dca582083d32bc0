"""Marks that change the direction of text, or that nobody sees, are shown by name: in report.md and on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_run import entry, output_of, write_measurement, write_run

from bench.cli.report import build_verb

HIDDEN = "\u202egnp.exe\u202c \u2066x\u2069 a\u200bb \u200f \x1b[31m \x00 \x85 \ufeff"
SHOWN = "⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+2066⟩x⟨U+2069⟩ a⟨U+200B⟩b ⟨U+200F⟩ ⟨U+001B⟩"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with such marks wherever a file of it may hold text."""
    line, failed = entry("aiohttp"), entry("tornado", number=2)
    write_run(
        tmp_path / "a-run",
        [line, failed],
        title=f"title {HIDDEN}",
        preset=f"preset {HIDDEN}",
        engine=f"engine {HIDDEN}",
        containers=f"containers {HIDDEN}",
        host={"cpu": f"cpu {HIDDEN}", "kernel": f"kernel {HIDDEN}"},
        harness={"version": f"version {HIDDEN}", "hash": HIDDEN},
        skipped=[{"service": f"service {HIDDEN}", "scenario": None, "tool": None, "cause": f"cause {HIDDEN}"}],
        expected=[f"expected {HIDDEN}"],
    )
    write_measurement(tmp_path / "a-run", line, output_of(line, 4000), tool={"argv": ["wrk", HIDDEN]})
    write_measurement(tmp_path / "a-run", failed, HIDDEN, meta={"outcome": "died", "detail": f"detail {HIDDEN}"})
    for name in ("packages.txt", "python.txt", "limits.txt", "os-release.txt"):
        for saved in (tmp_path / "a-run/raw/services").iterdir():
            (saved / name).write_text(f"a==1 {HIDDEN}\nPRETTY_NAME={HIDDEN}\n")
    image = [{"Id": "sha256:" + "ab" * 32, "Config": {"Labels": {"bench.base.made": f"base {HIDDEN}"}}}]
    (tmp_path / "a-run/raw/services" / line["service"] / "image.json").write_text(json.dumps(image))
    return tmp_path / "a-run"


def test_no_hidden_mark_is_in_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_verb([str(folder)]) == 0
    assert {mark for mark in capsys.readouterr().err if not mark.isprintable()} == {"\n"}
    report = (folder / "report.md").read_text()
    for where in ("title", "cpu", "cause", "detail"):
        assert f"{where} {SHOWN}" in report.replace("&lt;", "<").replace("\\[", "[")
    assert {mark for mark in report if not mark.isprintable()} == {"\n"}
    page = (folder / "index.html").read_text()
    body = page.partition("<body")[2].partition("<script")[0]
    assert f"title {SHOWN}" in body
    assert {mark for mark in body if not mark.isprintable()} <= {"\n"}
    assert "\u202e" not in page and "\u2066" not in page
