"""The figures of one's own app on twelve servers: a table counts only where all of them are ranked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cost.own_app_cost import QUICK_ROWS, SERVERS, own_app_cost, quick_cost


def run(folder: Path, ranked: int) -> str:
    lines = [{"kind": "service", "service": f"s{number}", "rank": number} for number in range(1, ranked + 1)]
    lines += [{"kind": "service", "service": "lost", "rank": None}, {"kind": "contrast", "a": "s1", "b": "s2"}]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


@pytest.mark.parametrize(
    ("ranked", "seconds", "status"),
    [(SERVERS, (280, 30), 0), (SERVERS, (301, 30), 1), (SERVERS, (280, 37), 1), (SERVERS - 1, (280, 30), 1)],
    ids=["both hold", "too long", "builds too long", "one has no rank"],
)
def test_what_is_missed(
    ranked: int, seconds: tuple[int, int], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [f"{name}=1,{taken * 10**9 + 1}" for name, taken in zip(("own-run", "own-rebuild"), seconds, strict=True)]
    assert own_app_cost([run(tmp_path, ranked), *spans]) == status
    assert f"{ranked} of {SERVERS} servers ranked" in capsys.readouterr().out


@pytest.mark.parametrize(("ranked", "seconds", "status"), [(QUICK_ROWS, 239, 0), (QUICK_ROWS, 241, 1), (15, 200, 1)])
def test_quick_counts_with_all_its_rows(
    ranked: int, seconds: int, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quick_cost([run(tmp_path, ranked), f"quick=1,{seconds * 10**9 + 1}"]) == status
    assert f"{ranked} of {QUICK_ROWS} rows ranked" in capsys.readouterr().out
