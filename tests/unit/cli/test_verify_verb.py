"""The command line of `verify`: output, exit status, files, and one line for each mistake of the user."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from captured import Capture, refused
from fake import FakeService
from fake_dependencies import FakeUpstream
from messages import MESSAGES
from places import ROOT

from bench.cli.verify import verify_verb
from bench.contract.answers import ROUTES
from bench.contract.client import Clock
from bench.core.errors import UserError
from bench.exchange import checks


def verify(service: FakeService, *words: str) -> int:
    return verify_verb(["--service", "fake", "--base-url", service.url, *words], service.clock)


def test_all_ok(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "verify.json"
    with FakeService() as service:
        words = ("--routes", "json,plaintext", "--concurrent")
        status = verify(service, *words, "--json", str(file), "--failure", str(tmp_path / "failure.json"))
    lines = capsys.readouterr().out.splitlines()
    ends = ("ok - json Status, content type and body", "9 passed, 0 failed")
    assert (status, lines[0], lines[-1]) == (0, *ends)
    result = json.loads(file.read_text())
    assert list(result) == ["schema", "service", "interface", "passed", "failed", "skipped", "missing", "checks"]
    assert list(result.values())[:-1] == [1, "fake", None, 9, 0, 0, {}]
    assert list(result["checks"][0]) == ["route", "check", "ok", "expected", "got", "seconds"]
    assert [path.name for path in tmp_path.iterdir()] == ["verify.json"]


def test_a_wrong_answer_is_status_1_and_named(tmp_path: Path, capsys: Capture) -> None:
    with FakeService("status 201") as service:
        assert verify(service, "--routes", "json", "--failure", str(tmp_path / "failure.json")) == 1
    out = capsys.readouterr().out.splitlines()
    line = "not ok - json Status, content type and body: expected status 200, got status 201"
    assert (out[0], out[-1]) == (line, "3 passed, 2 failed")
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert failure == {"outcome": "failed verification", "detail": line, "final": True}


def test_only_late_answers_are_status_3(tmp_path: Path, capsys: Capture) -> None:
    with FakeService("wakes late") as service:
        assert verify(service, "--routes", "delay", "--failure", str(tmp_path / "failure.json")) == 3
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not ok")]
    assert line.endswith("expected at most 0.35 s, got 0.417 s in the last of 5 tries")
    assert json.loads((tmp_path / "failure.json").read_text()) == {"outcome": "failed verification", "detail": line}


def test_a_service_that_gives_no_answer_may_be_tried_again(tmp_path: Path) -> None:
    with FakeService() as service:
        pass
    assert verify(service, "--routes", "json", "--failure", str(tmp_path / "failure.json")) == 1
    assert "final" not in json.loads((tmp_path / "failure.json").read_text())


def test_verify_json_is_there_only_with_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(path: Path, data: str | bytes) -> None:
        assert path.name == "failure.json", "it is written first"
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.cli.verify.write_file", cut)
    files = ("--json", str(tmp_path / "verify.json"), "--failure", str(tmp_path / "failure.json"))
    with FakeService("status 201") as service, pytest.raises(KeyboardInterrupt):
        verify(service, "--routes", "json", *files)


def test_timeouts_are_status_3(tmp_path: Path, capsys: Capture) -> None:
    with FakeService() as service:
        service.app.takes = lambda ms: 31_000
        assert verify(service, "--routes", "delay", "--failure", str(tmp_path / "failure.json")) == 3
    assert "final" not in json.loads((tmp_path / "failure.json").read_text())
    *failed, counts = capsys.readouterr().out.splitlines()
    assert all(line.endswith("expected an answer, got no complete answer within 30 s") for line in failed)
    assert counts == "0 passed, 7 failed"


def test_late_and_wrong_answers_are_status_1(capsys: Capture) -> None:
    with FakeService("500 for an unknown path") as service:
        service.app.takes = lambda ms: ms + 1000
        assert verify(service, "--routes", "delay") == 1
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("not ok"))
    assert "got status 500" in first and "in the last of 5 tries" in second


FAULTS = MESSAGES["verify"]


@pytest.mark.parametrize("arguments", FAULTS)
def test_mistakes_of_the_user_are_one_line(arguments: str, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    given = [word.format(password=password) for word in arguments.split()]
    with FakeService("echo without a limit") as service:
        fault = str(refused(UserError, verify, service, *given))
    assert FAULTS[arguments] in fault and "\n" not in fault


def test_routes_are_the_matrix() -> None:
    matrix = tomllib.loads((ROOT / "services" / "matrix.toml").read_text())
    known = dict.fromkeys(route for check in checks() for route in check.routes)
    assert {*matrix["routes"]} == {*known} and [*matrix["routes"]][: len(ROUTES)] == [*ROUTES]


class HangingClock(Clock):
    """Real waits, but one of more than a second lasts until the test ends."""

    def __init__(self) -> None:
        self.hangs, self.ended = threading.Event(), threading.Event()

    def sleep(self, seconds: float) -> None:
        if seconds > 1:
            self.hangs.set()
            self.ended.wait(120)
        else:
            time.sleep(seconds)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_restores_upstream(ending: signal.Signals) -> None:
    """A verifier that is stopped while upstream hangs restores it."""
    clock = HangingClock()
    with FakeService(clock=clock) as service:
        control = _control(service.upstream)
        url = f"http://127.0.0.1:{control.server_address[1]}"
        words = ["--service", "fake", "--base-url", service.url, "--routes", "simple-request"]
        argv = [sys.executable, "-m", "bench", "verify", *words, "--upstream-control", url]
        own = {"cwd": ROOT, "env": {**os.environ, "PYTHONUNBUFFERED": "1"}}
        verifier = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **own)
        try:
            assert clock.hangs.wait(60) and service.upstream.modes[-1] == "hang"
            verifier.send_signal(ending)
            _, said = verifier.communicate(timeout=60)
        finally:
            verifier.kill()
            clock.ended.set()
            control.shutdown()
            control.server_close()
    interrupted = b"verify: interrupted; upstream is back to normal\n"
    assert (verifier.returncode, said) == (130, interrupted)
    assert service.upstream.modes[-2:] == ["hang", "ok"]


def _control(upstream: FakeUpstream) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.answer(json.dumps({"requests": upstream.count()}))

        def do_PUT(self) -> None:
            upstream.set_mode(self.path.removeprefix("/mode/").removesuffix("?of=127.0.0.1"))  # type: ignore[arg-type]
            self.answer("{}")

        def answer(self, body: str) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server
