"""Sampled stacks: functions and packages with any names, and the table of a profiled worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from text_files import written

from bench.analysis.profiles.stacks import (
    NO_PYTHON,
    innermost_counts,
    package_shares,
    parse_stacks,
    worker_cpu_shares,
)
from bench.cli.matrix import profile_compose_verb
from bench.cli.report import profile_verb
from bench.core.errors import UserError

STAT = "{ns} 42 (uvicorn: (1)) S 1 42 42 0 -1 4194560 12 13 14 15 {user} {kernel} 16 17 20 0 1 0\n"
TEXT = """\
process 1:"docker-init -- /app/server/start";process 7:"python3";main (uvicorn/main.py:10);burn (app.py:97) 60
process 7:"python3 -m uvicorn";main (uvicorn/main.py:10);burn (app.py:98) 15
main (uvicorn/main.py:10);json (/usr/local/lib/python3.13/json/encoder.py:3) 20
app (/srv/venv/lib/python3.13/site-packages/flask/app.py:3) 4
process 9:"sh -c a; b" 1
<lambda> (<frozen importlib._bootstrap>:5) 2
"""


def test_samples_go_to_the_innermost_function_whatever_its_line() -> None:
    counts = {"app.py:burn": 75, "json/encoder.py:json": 20, "flask/app.py:app": 4, NO_PYTHON: 1}
    found = innermost_counts(parse_stacks(TEXT), "label")
    assert found == counts | {"<frozen importlib._bootstrap>:<lambda>": 2}
    packages = innermost_counts(parse_stacks(TEXT), "package")
    assert (packages["app.py"], packages["flask"]) == (75, 4)


def test_lines_of_no_form_are_left_out() -> None:
    assert parse_stacks("\nno count\n 5\na (b.py:1) -3\na (b.py:1) \u0663\n") == {}
    hostile = "x</script> (a;b|c.py:1) 3\n`f` [g](h) ((app.py:1) 2\n"
    assert sum(parse_stacks(hostile).values()) == 5


def test_cpu_time_is_that_between_the_two_readings() -> None:
    before = STAT.format(ns=10**9, user=100, kernel=50)
    after = STAT.format(ns=5 * 10**9, user=400, kernel=90)
    assert worker_cpu_shares(before, after, 100) == (0.75, 0.1)


def test_shares_are_in_the_order_of_their_size() -> None:
    stacks = "a (starlette/routing.py:7) 60\nb (starlette/requests.py:3) 15\nc (app.py:5) 20\nno frame at all 5\n"
    found = [("starlette", 0.75), ("app.py", 0.2), ("(no Python code)", 0.05)]
    assert list(package_shares(stacks).items()) == found
    assert package_shares("") == {}


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (STAT.format(ns=ns, user=0, kernel=0) for ns in (0, 10**13))
    files = {"svc.before": before, "svc.after": after, "svc.raw": "a (flask/app.py:1) 2\nb (re.py:2) 1\n"}
    profile_verb([f"{written(tmp_path, files)}/svc", "/json"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["/json: CPU 0 % in user space, 0 % in the kernel", " 66.7 % flask", " 33.3 % re.py"]


def test_a_compose_file_of_a_service(capsys: pytest.CaptureFixture[str]) -> None:
    profile_compose_verb(["uvicorn-quart-py313-debian"])
    assert "  uvicorn-quart-py313-debian:" in capsys.readouterr().out
    with pytest.raises(UserError, match="nginx-flask"):
        profile_compose_verb(["nginx-flask"])
