"""The command lines: output, exit status, the JSON file, and one line for each fault of the user's."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from fake import FakeService, FakeUpstream
from places import ROOT

from bench.contract import check, quick_check, run
from bench.contract.backing import upstream_mode
from bench.contract.routes import ECHO_SAMPLE, ROUTES
from bench.core.errors import UserError


def test_all_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verify.json"
    with FakeService() as service:
        status = run(
            [
                *("--service", "fake", "--base-url", service.url, "--routes", "json,plaintext", "--concurrent"),
                *("--declared-missing", "echo=not yet offered", "--json", str(file)),
            ]
        )
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[0] == "skip - echo: not yet offered"
    assert lines[1] == "ok - json Status, content type and body"
    assert lines[-1] == "9 passed, 0 failed, 1 skipped"
    result = json.loads(file.read_text())
    assert (result["schema"], result["service"], result["passed"], result["failed"]) == (1, "fake", 9, 0)
    assert (result["skipped"], result["missing"]) == (1, {"echo": "not yet offered"})
    assert result["checks"][0].keys() == {"route", "check", "ok", "expected", "got", "seconds"}
    assert [path.name for path in tmp_path.iterdir()] == ["verify.json"]


def test_a_failure_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeService("status 201") as service:
        assert run(["--service", "fake", "--base-url", service.url, "--routes", "json"]) == 1
    out = capsys.readouterr().out
    assert "not ok - json Status, content type and body: expected status 200, got status 201\n" in out
    assert out.endswith("1 passed, 4 failed, 0 skipped\n")


def test_a_missing_route_is_not_asked(capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://127.0.0.1:9"
    assert run(["--service", "x", "--base-url", url, "--routes", "echo", "--declared-missing", "echo=no"]) == 0
    assert capsys.readouterr().out == "skip - echo: no\n0 passed, 0 failed, 1 skipped\n"


FAULTS = {
    "--routes nonsense": "unknown route 'nonsense'",
    "--routes ,": "unknown route",
    "--routes json --declared-missing echo": "ROUTE=REASON",
    "--routes json --declared-missing nonsense=x": "ROUTE=REASON",
    "--routes db-raw": "--database-host",
    "--routes simple-request": "--upstream-control",
    "--routes json --concurrent --sequential": "not allowed with",
    "--routes json --base-url https://x": "http://HOST:PORT",
    "--routes json --base-url http://x:y": "http://HOST:PORT",
    "--routes json --timeout 0": "--timeout",
    "--routes json --nonsense": "unrecognized",
    "--routes db-raw --database-host h:x --database-password-file {password}": "HOST[:PORT]",
    "--routes db-raw --database-host h --database-password-file /nowhere": "--database-password-file",
    "--routes db-raw --database-host 127.0.0.1:9 --database-password-file {password}": "is postgres up",
    "--routes simple-request --upstream-control http://127.0.0.1:9": "is upstream up",
    "--routes simple-request --upstream-control nonsense": "--upstream-control",
    "--routes json --json /nowhere/verify.json": "--json",
}


@pytest.mark.parametrize("arguments", FAULTS)
def test_faults_of_the_user_are_one_line(arguments: str, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    given = [word.format(password=password) for word in arguments.split()]
    with FakeService() as service, pytest.raises(UserError) as fault:
        run(["--service", "fake", "--base-url", service.url, *given])
    assert FAULTS[arguments] in str(fault.value)
    assert "\n" not in str(fault.value)


def test_quick_check_judges_every_route() -> None:
    samples = {route: path.replace("{n}", "5") for route, path in ROUTES.items()}
    with FakeService() as service:
        for route, path in samples.items():
            assert quick_check(service.url + path, route) is None
        assert quick_check(f"{service.url}/echo", "echo", b'{"a":{}}') is None
    with FakeService("one row less") as service:
        problem = quick_check(f"{service.url}/raw/queries/20", "queries-raw")
    assert problem == "expected an array of 20 objects, got 19 of them"


def test_quick_check_refuses_another_routes_path() -> None:
    for path, route in (("/json", "plaintext"), ("/raw/queries/x", "queries-raw"), ("/?x=1", "delay")):
        with pytest.raises(ValueError, match="no path of route"):
            quick_check(f"http://127.0.0.1:9{path}", route)


def test_check_command(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeService("another greeting") as service:
        assert check(["--url", f"{service.url}/plaintext", "--route", "plaintext"]) == 0
        assert check(["--url", f"{service.url}/json", "--route", "json"]) == 1
        assert check(["--url", f"{service.url}/echo", "--route", "echo", "--body", ECHO_SAMPLE.decode()]) == 0
        with pytest.raises(UserError, match="no path of route"):
            check(["--url", f"{service.url}/json", "--route", "root"])
        with pytest.raises(UserError, match="invalid choice"):
            check(["--url", f"{service.url}/json", "--route", "nonsense"])
    right, wrong, _ = capsys.readouterr().out.splitlines()
    assert right.startswith("ok - plaintext http://127.0.0.1:")
    assert re.fullmatch(r"not ok - json http://\S+: expected .*Hello, World!.*, got .*Hello World.*", wrong)


def test_routes_are_the_matrix() -> None:
    matrix = tomllib.loads((ROOT / "services" / "matrix.toml").read_text())
    own = {route: line["path"] for route, line in matrix["routes"].items() if not line.get("selftest")}
    assert own == ROUTES


def test_upstream_is_restored_whatever_happens() -> None:
    upstream = FakeUpstream()
    with pytest.raises(KeyboardInterrupt), upstream_mode(upstream, "hang"):
        assert upstream.modes == ["hang"]
        raise KeyboardInterrupt
    assert upstream.modes == ["hang", "ok"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_restores_upstream(ending: signal.Signals) -> None:
    """A verifier that is ended while upstream hangs leaves it as it was."""
    with FakeService() as service:
        control = _control(service.upstream)
        url = f"http://127.0.0.1:{control.server_address[1]}"
        words = ["--service", "fake", "--base-url", service.url, "--routes", "simple-request"]
        verifier = subprocess.Popen(
            [sys.executable, "-m", "bench", "verify", *words, "--upstream-control", url],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        end = time.monotonic() + 20
        while service.upstream.modes[-1:] != ["hang"] and time.monotonic() < end:
            time.sleep(0.01)
        verifier.send_signal(ending)
        _, said = verifier.communicate(timeout=10)
        control.shutdown()
        control.server_close()
    assert verifier.returncode == 130
    assert said.decode().count("\n") == 1
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
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server
