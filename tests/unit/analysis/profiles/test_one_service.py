"""CPU time and samples of a profiled worker."""

from pathlib import Path

import pytest

from bench.analysis.profiles.stacks import package_shares, worker_cpu_shares
from bench.cli.matrix import profile_compose_verb
from bench.cli.report import profile_verb
from bench.core.errors import UserError

STAT = "{ns} 42 (uvicorn: (1)) S 1 42 42 0 -1 4194560 12 13 14 15 {user} {kernel} 16 17 20 0 1 0\n"


def test_cpu_time_is_that_between_the_two_readings() -> None:
    before = STAT.format(ns=10**9, user=100, kernel=50)
    after = STAT.format(ns=5 * 10**9, user=400, kernel=90)
    assert worker_cpu_shares(before, after, 100) == (0.75, 0.1)


def test_samples_go_to_the_package_of_the_innermost_frame() -> None:
    stacks = """\
main (uvicorn/main.py:10);run (asyncio/runners.py:1);app (starlette/routing.py:7) 60
app (starlette/requests.py:3) 15
main (uvicorn/main.py:10);handler (app.py:5) 20
_worker (concurrent/futures/thread.py:81);query (psycopg2/sql.py:2) 4
no frame at all 1
"""
    assert list(package_shares(stacks).items()) == [
        ("starlette", 0.75),
        ("app.py", 0.2),
        ("psycopg2", 0.04),
        ("(no Python code)", 0.01),
    ]
    assert package_shares("") == {}


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"{tmp_path}/svc-json"
    texts = {
        "before": STAT.format(ns=0, user=0, kernel=0),
        "after": STAT.format(ns=10**13, user=0, kernel=0),
        "raw": "a (flask/app.py:1) 2\nb (re.py:2) 1\n",
    }
    for name, text in texts.items():
        with open(f"{file}.{name}", "w") as out:
            out.write(text)
    assert profile_verb([file, "/json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["/json: CPU 0 % in user space, 0 % in the kernel", " 66.7 % flask", " 33.3 % re.py"]


def test_a_compose_file_of_a_service(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile_compose_verb(["uvicorn-quart-py313-debian"]) == 0
    assert "  uvicorn-quart-py313-debian:" in capsys.readouterr().out
    with pytest.raises(UserError, match="nginx-flask"):
        profile_compose_verb(["nginx-flask"])
