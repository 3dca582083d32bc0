"""Before a load: the first good response, and the warm-up. curl, hey and wrk are shell scripts here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_run import entry
from programs import Pretend

from bench.exchange.kind import Response
from bench.load.answers import ask, wait_until_ready
from bench.load.failures import Failed
from bench.load.task import Task, pinned, task_of
from bench.load.verbs import command, prepare
from bench.plan.measurement import planned_of

PLANNED = planned_of(entry(timeout_s=2, path="/json", dir="raw/cell", warmup_s=0.2))


@pytest.fixture
def pretend(pretend: Pretend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Replace a program with a shell script; curl has a good answer."""
    monkeypatch.setenv("READY_TIMEOUT", "0.2")
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    pretend("curl", answer("", 200))
    pretend("getent", "exit 2")
    return pretend


def answer(error: str, status: int, body: str = "") -> str:
    """The script of a curl that writes this body to its output file, and prints the status or error."""
    return f"""
        echo "$@" >"$TOLD"
        while [ $# -gt 1 ]; do [ "$1" != --output ] || printf '%s' '{body}' >"$2"; shift; done
        printf '%s\\n' '{error}' '{status:03} 0.001 0.001' >&2"""


def task(folder: Path, sent: Mapping[str, Any] | None = None, **changes: Any) -> Task:
    return task_of(str(folder), replace(PLANNED, exchange=replace(PLANNED.exchange, **sent or {}), **changes))


def said(act: Callable[..., None], one: Task) -> list[str]:
    lines = list[str]()
    act(one, lines.append)
    return lines


def refused(act: Callable[..., None], one: Task) -> tuple[int, str]:
    with pytest.raises(Failed) as failed:
        said(act, one)
    return failed.value.status, str(failed.value)


URL = f"http://{PLANNED.service}:8080/json"


def test_a_good_answer_is_said_with_its_time_and_how_long_it_took(pretend: Pretend, tmp_path: Path) -> None:
    first, second = said(wait_until_ready, task(tmp_path))
    assert first.startswith("ready 1") and len(first) == len("ready ") + 19 and second == "answer 0.001"


WRONG_ANSWERS = [
    (answer("curl: (7) refused", 0), 10, f"{URL} gave no answer in 0.2 s: curl: (7) refused"),
    ("echo 'curl: broken' >&2; exit 127", 10, f"{URL} gave no answer in 0.2 s: curl: broken"),
    (answer("", 404, "no thing"), 11, f"{URL}: expected status 200, got 404: 'no thing'"),
    (answer("", 503, "busy"), 11, f"{URL}: expected status 200, got 503: 'busy'"),
    (answer("curl: (18) half", 200) + "\nexit 18", 10, f"{URL} gave no answer in 0.2 s: curl: (18) half"),
]


@pytest.mark.parametrize(("script", "status", "words"), WRONG_ANSWERS)
def test_no_answer_and_a_wrong_one(script: str, status: int, words: str, pretend: Pretend, tmp_path: Path) -> None:
    pretend("curl", script)
    assert refused(wait_until_ready, task(tmp_path)) == (status, words)


def test_a_redirect_is_a_good_answer_only_where_it_is_expected(pretend: Pretend, tmp_path: Path) -> None:
    pretend("curl", answer("", 302, "moved"))
    assert said(wait_until_ready, task(tmp_path, {"redirects": (302,)}))[1] == "answer 0.001"
    failure = (11, f"{URL}: expected status 200, got 302: 'moved'")
    for redirects in ((), (303,)):
        assert refused(wait_until_ready, task(tmp_path, {"redirects": redirects})) == failure


def test_where_there_is_no_curl_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ask(task(tmp_path)) == Response("000", "", "curl: No such file or directory")


def test_a_request_goes_as_it_is_planned(pretend: Pretend, tmp_path: Path) -> None:
    ask(task(tmp_path, {"method": "POST", "body": "@a"}))
    told = (tmp_path / "told").read_text()
    assert "--request POST -H Content-Type: application/json --data-raw @a http://" in told
    # As the load tools do, with TLS as well.
    assert {"--http1.1", "--insecure"} <= set(told.split())
    ask(task(tmp_path, {"method": "HEAD"}))
    assert " --head http://" in (tmp_path / "told").read_text()
    own = tmp_path / "app/load/s"
    own.mkdir(parents=True)
    (own / "headers").write_text("X-A: 1\n")
    (own / "body-1").write_text("{}")
    ask(task(tmp_path, {"method": "PUT", "targets": 2}, requests="app/load/s"))
    assert f"--request PUT -H X-A: 1 --data-binary @{own}/body-1 http://" in (tmp_path / "told").read_text()


def test_a_warm_up_says_how_many_were_answered(pretend: Pretend, tmp_path: Path) -> None:
    pretend("hey", 'echo "$@" >"$TOLD"; echo "  [200] 7 responses"')
    lines = said(prepare, task(tmp_path, connections=4))
    assert [line.split()[0] for line in lines] == ["ready", "answer", "warmed", "warm"] and lines[2] == "warmed 7"
    assert len(lines[3]) == len("warm ") + 19
    assert (tmp_path / "told").read_text() == f"-c 4 -t 15 -disable-redirects -z 0.2s {URL}\n"
    assert len(said(prepare, task(tmp_path, warmup_s=0))) == 2


def test_a_warm_up_counts_the_redirects_that_are_expected(pretend: Pretend, tmp_path: Path) -> None:
    pretend("hey", 'echo "  [200] 7 responses"; echo "  [302] 5 responses"; echo "  [500] 9 responses"')
    assert said(prepare, task(tmp_path))[2] == "warmed 7"
    assert said(prepare, task(tmp_path, {"redirects": (302,)}))[2] == "warmed 12"


def test_the_body_of_a_warm_up_is_not_in_the_folder_of_the_load(pretend: Pretend, tmp_path: Path) -> None:
    pretend("hey", 'for word; do case $word in /dev/fd/*) cat $word >"$TOLD" ;; esac; done; echo "[200] 7 responses"')
    said(prepare, task(tmp_path, {"method": "POST", "body": '{"a":1}'}, tool="hey"))
    assert (tmp_path / "told").read_text() == '{"a":1}' and not (tmp_path / "raw").exists()


def test_several_targets_are_mixed_by_wrk_which_takes_whole_seconds(pretend: Pretend, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/headers").write_text("")
    pretend("wrk", 'echo "$@" >"$TOLD"; echo "  80 requests in 1.00s, 1KB read"')
    assert said(prepare, task(tmp_path, {"targets": 2}, requests="own"))[2] == "warmed 80"
    assert (tmp_path / "told").read_text().startswith(f"-t 1 -c 8 -d 1s --timeout 15s --latency -s {tmp_path}/own/")


FAILED_WARM_UPS = [
    ("echo no luck; exit 3", 12, "warm-up: status 3: no luck"),
    ("head -c 90000000 /dev/zero | tr '\\0' a", 12, f"warm-up: status -25: {'a' * 300}"),
    ("echo '[500] 8 responses'", 11, f"warm-up: no answer with a status of success from {URL}: [500] 8 responses"),
    (
        "printf 'Error distribution:\\n  [5] refused\\n'",
        10,
        f"warm-up: no answer from {URL} after its first one: [5] refused",
    ),
    ("true", 10, f"warm-up: no answer from {URL} in 8 s after its first one"),
]


@pytest.mark.parametrize(("script", "status", "words"), FAILED_WARM_UPS)
def test_a_warm_up_that_fails(script: str, status: int, words: str, pretend: Pretend, tmp_path: Path) -> None:
    pretend("hey", script)
    assert refused(prepare, task(tmp_path)) == (status, words)


def test_a_silent_warm_up_is_repeated_for_longer(pretend: Pretend, tmp_path: Path) -> None:
    pretend("hey", 'echo "$@" >>"$TOLD.all"; case "$*" in *"-z 2s"*) echo "[200] 1 responses" ;; esac')
    said(prepare, task(tmp_path))
    words = (tmp_path / "told.all").read_text().split()
    assert [words[at + 1] for at, word in enumerate(words) if word == "-z"] == ["0.2s", "1s", "2s"]


def test_what_a_tool_cannot_do_is_told_before_anything_is_asked(pretend: Pretend, tmp_path: Path) -> None:
    pretend("curl", "exit 7")
    assert refused(prepare, task(tmp_path, count=5)) == (2, "wrk runs for a time, not for a number of requests")
    with pytest.raises(Failed, match=r"unknown tool 'siege' in .*/step\.json"):
        task(tmp_path, tool="siege")


def test_the_address_is_the_first_that_is_known(pretend: Pretend, tmp_path: Path) -> None:
    load = task(tmp_path).load
    assert pinned(load) == load
    pretend("getent", "echo '198.18.0.7     STREAM a'; echo '198.18.0.8     DGRAM'")
    assert pinned(load).url == "http://198.18.0.7:8080/json"
    # A server with TLS may choose its certificate and site by the name.
    encrypted = replace(load, exchange=replace(load.exchange, protocol="https"))
    assert pinned(encrypted) == encrypted


def test_the_command_of_a_load(tmp_path: Path) -> None:
    assert command(task(tmp_path)).argv[0] == "wrk"
    knee = task(tmp_path, tool="vegeta", connections=None, knee_p99_s=0.05)
    assert command(knee).argv[:4] == ("vegeta-attack", "-rate", "500", "-duration")
