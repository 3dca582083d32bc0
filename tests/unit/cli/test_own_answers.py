"""An own app's answers on another server: one that differs is final, one that does not come may be tried again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_run import entry, write_run

from bench.__main__ import main
from bench.contract.client import Answer, Client, NoAnswer, Request
from bench.own_app.answers import Right, as_json
from bench.own_app.app import FOLDER, OwnApp, write_app
from bench.own_app.targets import Target

NAME = "aiohttp-py313-debian"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path, [entry("aiohttp")])
    (folder / FOLDER).mkdir()
    app = OwnApp(
        name="shop",
        label="",
        folder="/shop",
        app="main:app",
        interface="asgi",
        targets=(Target("root"),),
        pythons=("3.13",),
    )
    write_app(folder / FOLDER, app)
    right = Right(target="GET /", status=200, media_type="text/plain", length=2)
    (folder / FOLDER / "answers.json").write_text(as_json([right], "uvicorn"))
    return folder


def check(run: Path, monkeypatch: pytest.MonkeyPatch, body: bytes | None) -> dict[str, object] | None:
    """The service's failure.json after an answer with this body; None: no answer."""

    def ask(_client: Client, _request: Request) -> Answer:
        if body is None:
            raise NoAnswer("connection refused")
        return Answer(200, (("Content-Type", "text/plain"),), body, 0.01)

    monkeypatch.setattr(Client, "ask", ask)
    own = run / "raw/services" / NAME
    status = main(["own-answers", "check", str(run), NAME])
    assert (own / "verify.json").exists()
    failure = own / "failure.json"
    assert status == failure.exists()
    return json.loads(failure.read_text()) if failure.exists() else None


def test_the_recorded_answer_passes(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(run, monkeypatch, b"ok") is None


def test_another_answer_is_final(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = check(run, monkeypatch, b"other")
    assert failure is not None and failure["final"] is True and "5 bytes" in str(failure["detail"])


def test_no_answer_may_be_tried_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = check(run, monkeypatch, None)
    assert failure is not None and "final" not in failure and "connection refused" in str(failure["detail"])
