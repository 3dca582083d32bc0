"""The summary of many measurements in a row, from samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from tests.cost.long_run import long_run

ENDS = {"containers": "10", "networks": "4", "volumes": "0", "images": "9", "layers": "90"}
ENDS |= {"size of Images": "18.74GB", "bytes of the engine's folders": "5000000", "bytes of results": "1000"}


def text(
    after: dict[str, str] | None = None,
    memory: tuple[int, ...] = (3000, 3100, 3100, 3000, 3100, 3100, 3050),
    files: tuple[int, ...] = (9, 9, 8, 9, 9, 9, 9),
    containers: tuple[int, ...] = (3, 4, 4, 3, 4, 4, 4),
) -> str:
    lines = ["sample before 0 none", *(f"{name} {value}" for name, value in ENDS.items())]
    for number, counts in enumerate(zip(memory, files, containers, strict=True)):
        lines += [f"sample during {number * 10} a-run", f"containers {counts[2]}", "networks 5", "volumes 0"]
        # A short-lived process, and one that ended while it was read.
        lines += [f"process 17 {counts[0]} {counts[1]}", f"process {100 + number} 90000 90", "process 200  "]
    lines += ["sample after 0 none", *(f"{name} {value}" for name, value in (ENDS | (after or {})).items())]
    return "\n".join(lines) + "\n"


def judged(tmp_path: Path, samples: str) -> int:
    (tmp_path / "samples").write_text(samples)
    return long_run([str(tmp_path / "samples")])


def test_figures_that_go_up_and_down_do_not_grow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, text({"bytes of results": "61000", "size of Images": "18.75GB"})) == 0
    printed = capsys.readouterr().out
    assert "60 measurements, 9 samples" in printed
    assert "| containers | 10 | 10 | 0 | holds |" in printed
    assert "| of them for each measurement | 0 | 1,000 |  |  |" in printed
    assert "| a-run: kB of memory of process 17 | 3,100 | 3,050 | 1,024 | holds |" in printed
    assert "process 100" not in printed


@pytest.mark.parametrize(
    ("samples", "row"),
    [
        (text({"containers": "11"}), "| containers | 10 | 11 | 0 | GROWS |"),
        (text({"networks": "5"}), "| networks | 4 | 5 | 0 | GROWS |"),
        (text({"volumes": "1"}), "| volumes | 0 | 1 | 0 | GROWS |"),
        (text({"images": "10"}), "| images | 9 | 10 | 0 | GROWS |"),
        (text({"layers": "91"}), "| layers | 90 | 91 | 0 | GROWS |"),
        (text({"size of Images": "18.80GB"}), "| bytes, size of Images | 18,740,000,000 | 18,800,000,000 |"),
        (
            text({"bytes of the engine's folders": "7000000"}),
            "| bytes of the engine's folders | 5,000,000 | 7,000,000 |",
        ),
        (
            text(memory=(3000, 3100, 3200, 3300, 3400, 4500, 4600)),
            "| a-run: kB of memory of process 17 | 3,100 | 4,500 | 1,024 | GROWS |",
        ),
        (text(files=(9, 9, 9, 9, 9, 10, 11)), "| a-run: open files of process 17 | 9 | 10 | 0 | GROWS |"),
        (text(containers=(3, 4, 4, 4, 4, 5, 6)), "| a-run: containers | 4 | 5 | 0 | GROWS |"),
    ],
)
def test_what_grows_is_named_and_fails(
    samples: str, row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, samples) == 1
    printed = capsys.readouterr().out
    assert row in printed
    assert printed.count("GROWS") == 1


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (text(memory=(1, 1), files=(1, 1), containers=(1, 1)), "fewer than 6 samples of a-run"),
        (text().replace("process 17", "process"), "no process of a-run"),
        (text().partition("sample after")[0], "no sample before, during or after"),
        ("containers 1\n", "does not begin with a sample"),
        (text({"size of Images": "many"}), "'many' is not a number"),
    ],
)
def test_too_little_for_a_word_is_an_error(samples: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        judged(tmp_path, samples)
