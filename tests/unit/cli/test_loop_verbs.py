"""Verbs that the loop on the host calls: failed services, what the driver reads about them, remote counters."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from an_app import an_app
from captured import Capture, printed
from make_run import entry, write_run

from bench.__main__ import main
from bench.load import far_counters
from bench.own_app.app import write_app
from bench.own_app.trace import BEGIN
from bench.schedule.build_log import build_error
from driver.messages import Service
from driver.run import open_run

NAME = "aiohttp-py313-debian"


BUILD = {"build.log": "#1 ok\n#2 1.2 fine\n1.234 no such package\n"}
WHERE = f"(the whole log is in results/RUN/raw/services/{NAME}/build.log)"
BOOM, SILENT = {"server.log": "boom\n"}, "no answer in 8 s"
CURL = "curl: (6) Could not resolve host: a"
ENDED, KILLED = "oom_kill 0\noom_killed false\n", "null x\nrunning false\noom_killed true\nrestarts 0\n"
LIMITED = {"verify.txt": "x\n", "state.txt": "oom_kill 3\noom_killed false\n"}
LIMIT = "out of memory: killed at its container's memory limit"
VERIFIER = "failed verification: the verifier ended with status"


FAILED = [
    ("base python:3.13", {}, "base image not reachable: python:3.13 cannot be pulled or made here"),
    ("build", BUILD, f"build failed: no such package {WHERE}"),
    ("start", {"start.log": "a\nno image\n"}, "did not start: no image"),
    ("start", {}, "did not start: "),
    ("start", {"start.log": "no image", "state.txt": ENDED}, "did not start: no image"),
    ("answer 8", {"server.log": "x\nboom\n\n"}, f"did not start: {SILENT}; last log line: boom"),
    ("answer 8", BOOM | {"answer.txt": f"{CURL}\n"}, f"did not start: {SILENT} ({CURL}); last log line: boom"),
    ("answer 8", BOOM | {"state.txt": KILLED}, f"{LIMIT}; did not start: {SILENT}; last log line: boom"),
    ("verification 1", LIMITED, f"{LIMIT}; {VERIFIER} 1; last log line: x"),
    ("verification", {"verify.txt": "ok\nTraceback\n"}, "failed verification: Traceback"),
    ("verification 137", {"verify.txt": "5 passed\n"}, f"{VERIFIER} 137; last log line: 5 passed"),
]


@pytest.mark.parametrize(("arguments", "files", "words"), FAILED)
def test_why_a_service_is_not_loaded(
    arguments: str, files: dict[str, str], words: str, tmp_path: Path, capsys: Capture
) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    for name, text in files.items():
        (tmp_path / "raw/services" / NAME / name).write_text(text)
    words = words.replace("results/RUN", f"results/{tmp_path.name}")
    said = printed(capsys, "service-failed", str(tmp_path), NAME, *arguments.split())
    assert said == f"{NAME}: {words}\n"
    failure = json.loads((tmp_path / "raw/services" / NAME / "failure.json").read_text())
    assert failure == dict(zip(("outcome", "detail"), words.split(": ", 1), strict=True))


def test_what_the_verifier_wrote_stays(tmp_path: Path, capsys: Capture) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    path = tmp_path / "raw/services" / NAME / "failure.json"
    path.write_text('{"outcome": "failed verification", "detail": "not ok - json"}')
    said = printed(capsys, "service-failed", str(tmp_path), NAME, "verification")
    assert said == f"{NAME}: failed verification: not ok - json\n"
    assert path.read_text() == '{"outcome": "failed verification", "detail": "not ok - json"}'


def test_what_is_no_name_of_a_service_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    assert main(["service-failed", str(tmp_path), "../..", "start"]) == 2


PIP = """#9 2.41   error: subprocess-exited-with-error
#9 2.41   × Getting requirements to build wheel did not run successfully.
#9 2.41       Error: pg_config executable not found.
#9 2.43 note: This error originates from a subprocess, and is likely not a problem with pip.
------
 > [9/9] RUN pip install:
{tail}2.43 note: This error originates from a subprocess, and is likely not a problem with pip.
------
"""


TAILS = [
    ("2.41       Error: pg_config executable not found.\n", "Error: pg_config executable not found."),
    # BuildKit repeats only the last lines of a step.
    ("2.42 exit code: 1\n", "Error: pg_config executable not found."),
    ("2.42       No matching distribution found for a==9\n", "No matching distribution found for a==9"),
]


@pytest.mark.parametrize(("tail", "words"), TAILS)
def test_the_cause_of_a_failed_build_comes_before_the_last_words_of_pip(tail: str, words: str) -> None:
    assert build_error(PIP.format(tail=tail)) == words
    without = PIP.format(tail="2.42 exit code: 1\n").replace("pg_config executable not found", "it failed")
    assert build_error(without) == "exit code: 1"


def test_a_build_without_repeated_words_has_its_last_error() -> None:
    assert build_error("--x error\nERROR: no such file\n------\n") == "ERROR: no such file"
    assert build_error("all is well\n") == ""


def test_a_failed_build_of_an_own_app_says_what_to_give_and_one_of_the_matrix_does_not(tmp_path: Path) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    log = tmp_path / "raw/services" / NAME / "build.log"
    log.write_text(PIP.format(tail="2.42 exit code: 1\n"))
    where = f"(the whole log is in results/{tmp_path.name}/raw/services/{NAME}/build.log)"
    facts = json.loads((tmp_path / "run.json").read_text())
    given = ({"apt": ["libmagic1"]}, ": give --apt 'libmagic1 libpq-dev gcc'")
    for own, advice in ((None, "."), ({"apt": []}, ": add --apt 'libpq-dev gcc'"), given):
        (tmp_path / "run.json").write_text(json.dumps(facts | {"own_app": own}))
        assert main(["service-failed", str(tmp_path), NAME, "build"]) == 0
        failure = json.loads((log.parent / "failure.json").read_text())
        assert failure["detail"] == f"Error: pg_config executable not found{advice} {where}"


def test_what_a_test_import_lacks_is_said_with_its_exception(tmp_path: Path, capsys: Capture) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    (tmp_path / "app").mkdir()
    write_app(tmp_path / "app", an_app(apt=("gcc",)))
    error = "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"
    place = '  File "/srv/app/main.py", line 2, in <module>\n    import cv2\n'
    (tmp_path / "app/import.txt").write_text(f"Traceback (most recent call last):\n{place}{error}\n")
    said = printed(capsys, "own-trace", str(tmp_path / "app"), str(tmp_path / "app/import.txt"))
    advice = "give --apt 'gcc libgl1 libglib2.0-0'"
    assert said.splitlines()[-2:] == [error, f"{error} (main.py, line 2): {advice}"]
    log = tmp_path / "app/before.txt"
    for text, hint, words in (
        ("starts\nsh: 1: alembic: not found\n", "", "sh: 1: alembic: not found"),
        ("starts\nsh: 1: alembic: not found.\n", "mend that", "sh: 1: alembic: not found: mend that"),
        ("", "mend that", "its log is empty: mend that"),
        # A hint of its own.
        ("ImportError: libpq.so.5: cannot open shared object file", "x", "{}: give --apt 'gcc libpq5'"),
        (f"{BEGIN}\nSyntaxError: no\n", "x", "{}SyntaxError: no: mend it, or give --python with the Python that"),
        (f"{BEGIN}\nKeyError: 1\n", "x", "{}KeyError: 1: x"),
    ):
        log.write_text(text)
        said = printed(capsys, "own-trace", str(tmp_path / "app"), str(log), *([hint] if hint else []))
        last = said.splitlines()[-1]
        assert last.startswith(words.format("" if text.startswith(BEGIN) else text))


def test_why_requirements_cannot_be_locked(tmp_path: Path, capsys: Capture) -> None:
    write_app(tmp_path, an_app())
    for log, words in (
        (PIP.format(tail=""), "Error: pg_config executable not found: add --apt 'libpq-dev gcc'\n"),
        ("#9 0.5   × No solution found when resolving dependencies:\n", ""),
        # A compiler's error is no cause in plain words, but there is something to give.
        (
            "#9 9.1 g++: error: no such thing\n#9 9.1 ERROR: Failed building wheel for six\n",
            "#9 9.1 ERROR: Failed building wheel for six: give an older --python if six has a wheel for that\n",
        ),
    ):
        (tmp_path / "app-build.log").write_text(log)
        assert printed(capsys, "own-build-cause", str(tmp_path), "app-lock") == words
    # What the app's folder has is built on every Python.
    assert printed(capsys, "own-build-cause", str(tmp_path), "app-wheels") == ""


def test_the_driver_reads_the_services_as_they_are(tmp_path: Path) -> None:
    facts = {"image": "bench/it's $HOME", "base_image": "python:3.13", "concurrent": True, "routes": ["json", "db-raw"]}
    facts["framework"] = "flask"
    varied = facts | {"concurrent": False, "image": "bench/svc-c", "settings": "WORKERS=2 THREADS=1"}
    running = {"url": "http://127.0.0.1:8000/"}
    own = {"app": "main:app", "folder": "/it's", "env_file": "", "before": "", "variables": ["KEY"]}
    own["services"] = ["postgres"]
    own["targets"] = [{"request": "GET /"}, {"request": "POST /orders"}]
    services = {"svc-a": facts, "svc-b": varied, "there": running}
    (tmp_path / "results/a-run").mkdir(parents=True)
    content = {"schema": 1, "services": services, "own_app": own}
    (tmp_path / "results/a-run/run.json").write_text(json.dumps(content))
    run = open_run("a-run", tmp_path)
    first = Service("bench/it's $HOME", "", "python:3.13", "flask", routes=("json", "db-raw"))
    second = replace(first, image="bench/svc-c", settings="WORKERS=2 THREADS=1", concurrent=False)
    assert run.services == {"svc-a": first, "svc-b": second, "there": Service(url="http://127.0.0.1:8000/")}
    assert (first.build, run.containers, run.targets) == ("it's $HOME", ("svc-a", "svc-b"), ("there",))
    assert run.dependencies == ("loadgen", "upstream", "own-postgres")
    app = run.own_app
    assert app and (app.app, app.variables, app.writes, app.folder) == ("main:app", ("KEY",), True, "/it's")


def test_counters_of_listed_containers_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/cpu.stat").write_text("usage_usec 7\n")
    listed = tmp_path / "containers.json"
    listed.write_text('{"web": ["web"]}')
    monkeypatch.setenv("CGROUP_ROOT", str(tmp_path))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    served: list[object] = []

    def kept(make: object) -> object:
        served.append(far_counters.serve(make, ("127.0.0.1", port)))  # type: ignore[arg-type]
        return served[0]

    monkeypatch.setattr("bench.cli.load.serve", kept)
    thread = threading.Thread(target=main, args=(["counters", str(listed)],))
    thread.start()
    try:
        assert main(["counters-reached", f"127.0.0.1:{port}"]) == 0
        far = far_counters.far_reader(f"127.0.0.1:{port}")
        assert set(far.read(["web", "other"])[0]) <= {"web"}
        far.close()
    finally:
        served[0].shutdown()  # type: ignore[attr-defined]
        thread.join()
        served[0].server_close()  # type: ignore[attr-defined]
    monkeypatch.setattr(far_counters.await_reader, "__defaults__", (0.1, 0.1))
    said = printed(capsys, "counters-reached", f"127.0.0.1:{port}", status=2)
    assert "127.0.0.1 does not answer: " in said


@pytest.mark.parametrize("words", ["counters", "counters-reached", "sockets x", "own-answers ask a-run x", "retry a b"])
def test_how_they_are_called_is_said(words: str, capsys: Capture) -> None:
    verb = words.partition(" ")[0]
    assert f"usage: python3 -m bench {verb}" in printed(capsys, *words.split(), status=2)
