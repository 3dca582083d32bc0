"""What the loop on the host has recorded of a service, and the file of services that the driver reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_run import entry, write_run

from bench.__main__ import main
from bench.drive.service_failures import build_error
from bench.run.host_json import host_json
from driver.messages import Host, OwnApp, Service, host_of, read

NAME = "aiohttp-py313-debian"


@pytest.mark.parametrize(
    ("arguments", "files", "outcome", "detail"),
    [
        (["base", "python:3.13"], {}, "base image not reachable", "python:3.13 cannot be pulled or made here"),
        (["build"], {"build.log": "#1 ok\n#2 1.2 fine\n1.234 no such package\n"}, "build failed", "no such package"),
        (["start"], {"start.log": "a\nno image\n"}, "did not start", "no image"),
        (["start"], {}, "did not start", ""),
        (["answer", "8"], {"server.log": "x\nboom\n\n"}, "did not start", "no answer in 8 s; its last words: boom"),
        (
            ["answer", "8"],
            {"server.log": "boom\n", "answer.txt": "curl: (6) Could not resolve host: a\n"},
            "did not start",
            "no answer in 8 s (curl: (6) Could not resolve host: a); its last words: boom",
        ),
        (
            ["answer", "8"],
            {"server.log": "boom\n", "state.txt": "null x\nrunning false\noom_killed true\nrestarts 0\n"},
            "out of memory",
            "killed at its container's limit of memory; did not start: no answer in 8 s; its last words: boom",
        ),
        (
            ["start"],
            {"start.log": "no image", "state.txt": "oom_kill 0\noom_killed false\n"},
            "did not start",
            "no image",
        ),
        (
            ["verification", "1"],
            {"verify.txt": "x\n", "state.txt": "oom_kill 3\noom_killed false\n"},
            "out of memory",
            "killed at its container's limit of memory; failed verification: the verifier ended with status 1; "
            "its last words: x",
        ),
        (["verification"], {"verify.txt": "ok\nTraceback\n"}, "failed verification", "Traceback"),
        (
            ["verification", "137"],
            {"verify.txt": "5 passed\n"},
            "failed verification",
            "the verifier ended with status 137; its last words: 5 passed",
        ),
    ],
)
def test_why_a_service_is_not_loaded(  # noqa: PLR0917
    arguments: list[str],
    files: dict[str, str],
    outcome: str,
    detail: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    for name, text in files.items():
        (tmp_path / "raw/services" / NAME / name).write_text(text)
    assert main(["service-failed", str(tmp_path), NAME, *arguments]) == 0
    assert capsys.readouterr().out == f"{NAME}: {outcome}: {detail}\n"
    failure = json.loads((tmp_path / "raw/services" / NAME / "failure.json").read_text())
    assert failure == {"outcome": outcome, "detail": detail}


def test_what_the_verifier_wrote_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    path = tmp_path / "raw/services" / NAME / "failure.json"
    path.write_text('{"outcome": "failed verification", "detail": "not ok - json"}')
    assert main(["service-failed", str(tmp_path), NAME, "verification"]) == 0
    assert capsys.readouterr().out == f"{NAME}: failed verification: not ok - json\n"
    assert path.read_text() == '{"outcome": "failed verification", "detail": "not ok - json"}'


def test_what_is_no_name_of_a_service_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    assert main(["service-failed", str(tmp_path), "../..", "start"]) == 2


def test_a_build_without_repeated_words_has_its_last_error() -> None:
    assert build_error("--x error\nERROR: no such file\n------\n") == "ERROR: no such file"
    assert build_error("all is well\n") == ""


def test_the_driver_reads_the_services_as_they_are(tmp_path: Path) -> None:
    facts = {"image": "bench/it's $HOME", "base_image": "python:3.13", "concurrent": True, "routes": ["json", "db-raw"]}
    facts["framework"] = "flask"
    varied = facts | {"concurrent": False, "image": "bench/svc-c", "settings": "WORKERS=2 THREADS=1"}
    running = {"url": "http://127.0.0.1:8000/"}
    own = {"app": "main:app", "folder": "/it's", "env_file": "", "before": "", "variables": ["KEY"]}
    text = host_json({"svc-a": facts, "svc-b": varied, "there": running}, own | {"services": ["postgres"]})
    (tmp_path / "host.json").write_text(text)
    assert host_of(read(tmp_path / "host.json") or {}) == Host(
        {
            "svc-a": Service("bench/it's $HOME", "it's $HOME", "python:3.13", "flask", routes=("json", "db-raw")),
            "svc-b": Service(
                *("bench/svc-c", "svc-c", "python:3.13", "flask", "WORKERS=2 THREADS=1"),
                concurrent=False,
                routes=("json", "db-raw"),
            ),
            "there": Service(url="http://127.0.0.1:8000/"),
        },
        ("loadgen", "upstream", "own-postgres"),
        own_app=OwnApp("main:app", "/it's", variables=("KEY",)),
    )
