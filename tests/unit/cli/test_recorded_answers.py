"""Expected responses of a user's own app and of servers that already run: recorded first, compared later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

import pytest
from an_app import an_app
from captured import Capture, printed
from fake import FakeService
from fake_app import FakeApp, Refused
from loop_runs import write_services
from make_run import entry, write_run

from bench.__main__ import main
from bench.contract.client import Answer, Client, NoAnswer, Request
from bench.own_app.answers import Right, as_json
from bench.own_app.app import FOLDER, write_app
from bench.own_app.targets import Target
from bench.run.reader import read_service

NAME = "aiohttp-py313-debian"


def add_app(run: Path, *targets: Target) -> None:
    """Add a user's own app with these targets to the run."""
    (run / FOLDER).mkdir()
    write_app(run / FOLDER, an_app(*targets))


def record(run: Path, length: int, *targets: Target) -> None:
    rights = [Right(target=one.title, status=200, media_type="text/plain", length=length) for one in targets]
    (run / FOLDER / "answers.json").write_text(as_json(rights, "uvicorn-shop"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path, [entry("aiohttp")])
    add_app(folder, Target("root"))
    record(folder, 2, Target("root"))
    return folder


def check(run: Path, monkeypatch: pytest.MonkeyPatch, body: bytes | None) -> dict[str, object] | None:
    """The service's failure.json after a response with this body (None: no response)."""

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


@pytest.mark.parametrize(("body", "final", "detail"), [(b"other", True, "5 bytes"), (None, None, "connection refused")])
def test_another_answer_is_final_and_where_none_comes_it_may_be_tried_again(
    body: bytes | None, final: bool | None, detail: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(run, monkeypatch, b"ok") is None
    failure = check(run, monkeypatch, body)
    assert failure is not None and failure.get("final") is final and detail in str(failure["detail"])


def test_expected_redirect_on_every_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def ask(client: Client, _: Request) -> Answer:
        return Answer(302, (("Location", f"{client.base_url}{place}"),), b"", 0.01)

    monkeypatch.setattr(Client, "ask", ask)
    run, place = write_run(tmp_path, [entry("aiohttp")]), "/done"
    add_app(run, Target("one", "POST", "/a"))
    assert main(["own-answers", "record", str(run), "uvicorn-shop"]) == 1
    hint = 'or if that is right, give --expect FILE with {"POST /a": {"status":'
    words = f"POST /a gives 302, a redirect to /done; choose other requests with --targets FILE, {hint}"
    assert words in capsys.readouterr().out
    write_app(run / FOLDER, an_app(Target("one", "POST", "/a"), expect=({"status": 302},)))
    assert main(["own-answers", "record", str(run), "uvicorn-shop"]) == 0
    (answer,) = json.loads((run / FOLDER / "answers.json").read_text())["answers"]
    assert (answer["status"], answer["location"]) == (302, "/done")
    assert main(["own-answers", "check", str(run), NAME]) == 0
    # A server beside the app has its own address, too.
    beside, name = make(tmp_path / "beside", "http://127.0.0.1:8000", scenario="one", method="POST", path="/a")
    write_services(beside, {name: {"url": "http://127.0.0.1:8000"}})
    assert main(["target-answers", str(beside), name]) == 2
    add_app(beside, Target("one", "POST", "/a"))
    write_app(beside / FOLDER, an_app(Target("one", "POST", "/a"), expect=({"status": 302},)))
    assert main(["target-answers", str(beside), name]) == 0
    place = "/error"
    assert main(["own-answers", "check", str(run), NAME]) == 1
    failure = json.loads((run / "raw/services" / NAME / "failure.json").read_text())
    bare = "302 without a content type, to"
    assert failure["detail"].endswith(f"gives {bare} /done; here {bare} /error")


class App(FakeApp):
    """Answers /x, and counts the requests."""

    status, body, asked = 200, b"hello", 0

    def answer(self, method: str, url: SplitResult, body: bytes) -> tuple[str, bytes]:
        self.asked += 1
        status = self.status if url.geturl() == "/x" else 404
        if status != 200:
            raise Refused(status, self.body)
        return "text/plain", self.body


@pytest.fixture
def server() -> Iterator[FakeService]:
    with FakeService() as found:
        found.app = App("", found.clock)
        yield found


def make(folder: Path, url: str, **changes: Any) -> tuple[Path, str]:
    """A run with a server that already runs."""
    name = f"target-{url.removeprefix('http://').replace(':', '-')}"
    line = entry("aiohttp", "get-x") | {"service": name, "path": "/x", "url": url} | changes
    return write_run(folder / "a-run", [line, entry("tornado", number=2)]), name


def ask(run: Path, name: str, capsys: Capture) -> tuple[int, str]:
    status = main(["target-answers", str(run), name])
    said = capsys.readouterr()
    return status, (said.out + said.err).strip()


def test_what_it_answers_first_is_right_from_then_on(tmp_path: Path, server: FakeService, capsys: Capture) -> None:
    run, name = make(tmp_path, server.url)
    assert ask(run, name, capsys) == (0, "GET /x: 200 text/plain, 5 bytes")
    assert server.app.asked == 3
    assert ask(run, name, capsys) == (0, "")
    server.app.body = b"hello, again"
    words = "GET /x: at first 200 text/plain, 5 bytes; now 200 text/plain, 12 bytes"
    assert ask(run, name, capsys) == (1, f"{name}: failed verification: {words}")
    assert read_service(str(run), name).failure == ("failed verification", words)
    server.app.body = b"other"
    assert ask(run, name, capsys) == (0, "") and read_service(str(run), name).failure is None


@pytest.mark.parametrize(("status", "words"), [(500, "GET /x gives 500: hello"), (302, "GET /x gives 302: hello")])
def test_unfit_first_answers(tmp_path: Path, server: FakeService, capsys: Capture, status: int, words: str) -> None:
    run, name = make(tmp_path, server.url)
    server.app.status = status
    assert ask(run, name, capsys) == (2, f"bench: --target {server.url} cannot be measured: {words}")
    assert not (run / "raw/services" / name / "answers.json").exists()


def test_silent_target_in_a_new_and_in_a_resumed_run(tmp_path: Path, server: FakeService, capsys: Capture) -> None:
    url = "http://127.0.0.1:1"
    run, name = make(tmp_path, url)
    words = "GET /x: connection refused"
    assert ask(run, name, capsys) == (2, f"bench: --target {url} does not answer: {words}")
    going_on, other = make(tmp_path / "on", server.url)
    assert ask(going_on, other, capsys)[0] == 0
    plan = (going_on / "plan.jsonl").read_text().replace(server.url, url)
    (going_on / "plan.jsonl").write_text(plan)
    assert ask(going_on, other, capsys) == (1, f"{other}: does not answer: {words}")
    saved = json.loads((going_on / "raw/services" / other / "failure.json").read_text())
    assert saved == {"outcome": "does not answer", "detail": words}


def test_a_service_of_the_run_is_no_such_server(tmp_path: Path, capsys: Capture) -> None:
    run, _ = make(tmp_path, "http://127.0.0.1:1")
    assert ask(run, "tornado-py313-debian", capsys)[0] == 2


def test_beside_an_app_the_selection_is_checked_before_its_requirements_are_resolved(capsys: Capture) -> None:
    assert main(["own-selection", "--server", "uvicorn", "--target", "http://127.0.0.1:8000"]) == 0
    assert main(["own-selection", "--target", "http://127.0.0.1:8000/x"]) == 2
    said = printed(capsys, "own-selection", "--target", "http://192.0.2.1/", status=2)
    assert "is not this machine" in said
    said = printed(capsys, "own-selection", "--stack", "uvicorn-flask", status=2)
    assert "choose servers with --server" in said


def test_target_is_compared_with_the_recorded_answers(tmp_path: Path, server: FakeService, capsys: Capture) -> None:
    run, name = make(tmp_path, server.url, scenario="mix")
    write_services(run, {name: {"url": server.url}})
    targets = (Target("one", path="/x"), Target("two", path="/x?b"))
    add_app(run, *targets)
    # Each request of the app's mix is sent.
    assert ask(run, name, capsys) == (2, f"bench: --target {server.url} cannot be measured: GET /x?b gives 404: hello")
    record(run, 5, *targets)
    (run / "raw/services" / name).mkdir(exist_ok=True)
    assert main(["own-answers", "check", str(run), name]) == 1
    expected = "GET /x?b: uvicorn-shop gives 200 text/plain, 5 bytes; here 404 application/json, 5 bytes: hello"
    saved = json.loads((run / "raw/services" / name / "failure.json").read_text())
    assert saved == {"outcome": "failed verification", "detail": expected, "final": True}
