"""How long the first answer of a service is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pretend_engine import PretendEngine, made_run

from driver.docker import Done
from driver.services import ready


class Slow(PretendEngine):
    """A service that takes connections and answers none; each try takes all of its time."""

    now, left = 0.0, 99

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, **options: Any) -> Done:
        assert words[:2] == ["sh", "-c"] and words[3] == "http://a:8080/" and log
        self._note("waits", words[4])
        Slow.now += float(words[4])
        log.write_text("Connection refused\n")
        self.left -= 1
        return Done(0 if self.left <= 0 else 1, "", "")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow.now = 0.0
    monkeypatch.setattr(ready, "monotonic", lambda: Slow.now)


def test_a_service_that_takes_connections_and_answers_none_is_given_up_in_time(tmp_path: Path) -> None:
    run = made_run(tmp_path, "a")
    engine = Slow(run)
    assert not ready.await_answer(engine, "a")
    assert engine.calls() == ["waits 3"]
    run.settings["READY_TIMEOUT"] = "12"  # type: ignore[index]
    assert not ready.await_answer(engine, "a")
    assert engine.calls()[1:] == ["waits 5", "waits 5", "waits 2"]
    assert (run.service_folder("a") / "answer.txt").read_text() == "Connection refused\n"


def test_an_answer_ends_the_waiting_and_so_does_the_end_of_the_container(tmp_path: Path) -> None:
    engine = Slow(made_run(tmp_path, "a"))
    engine.left = 1
    assert ready.await_answer(engine, "a")
    assert not (engine.run.service_folder("a") / "answer.txt").exists()
    ended = Slow(engine.run, silent=["loadgen"])
    assert not ready.await_answer(ended, "a")
    assert engine.calls() == ["waits 3", "waits 3"]
