"""How a service is told to end, and how often."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver.services import verify as shutdown


@pytest.mark.parametrize(
    ("statuses", "silent", "tries"),
    [
        ([143], [], 1),
        ([0], [], 1),
        ([137, 1, 143, 0], [], 3),
        ([137, 137, 137, 0], [], 3),
        ([137, 0], ["a"], 1),  # it gives no answer any more
    ],
)
def test_one_that_does_not_end_by_itself_has_three_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[int], silent: list[str], tries: int
) -> None:
    (tmp_path / "statuses").write_text("".join(f"{status}\n" for status in statuses))
    take = f"[[ $1 != inspect ]] || {{ head -n1 {tmp_path}/statuses && sed -i 1d {tmp_path}/statuses; }}"
    calls = pretend_docker(tmp_path, monkeypatch, take)
    monkeypatch.setattr(shutdown, "sleep", lambda seconds: None)
    clock = iter(range(100, 200, 10))
    monkeypatch.setattr(shutdown, "monotonic_ns", lambda: next(clock))
    engine = PretendEngine(made_run(tmp_path, "a"), silent=silent)
    assert shutdown.check_shutdown(engine, "a") == statuses[tries - 1]
    assert (
        calls.read_text().splitlines()
        == [
            "stop --time 10 bench-a-run-a-1",
            "inspect --format {{.State.ExitCode}} bench-a-run-a-1",
        ]
        * tries
    )
    assert json.loads((engine.run.service_folder("a") / "stop.json").read_text()) == {
        **{"exit_status": statuses[tries - 1], "tries": tries},
        **{"begin_ns": 80 + 20 * tries, "end_ns": 90 + 20 * tries},
    }
    assert engine.calls()[-1] == "stop a"
