"""Sampled stacks: functions and packages, whatever names they have."""

from __future__ import annotations

from bench.analysis.profiles.stacks import NO_PYTHON, package_counts, parse_stacks, self_counts

TEXT = """\
process 1:"docker-init -- /app/server/start";process 7:"python3";main (uvicorn/main.py:10);burn (app.py:97) 60
process 7:"python3 -m uvicorn";main (uvicorn/main.py:10);burn (app.py:98) 15
main (uvicorn/main.py:10);json (/usr/local/lib/python3.13/json/encoder.py:3) 20
app (/srv/venv/lib/python3.13/site-packages/flask/app.py:3) 4
process 9:"sh -c a; b" 1
<lambda> (<frozen importlib._bootstrap>:5) 2
"""


def test_samples_go_to_the_innermost_function_whatever_its_line() -> None:
    found = self_counts(parse_stacks(TEXT))
    assert found == {
        "app.py:burn": 75,
        "json/encoder.py:json": 20,
        "flask/app.py:app": 4,
        NO_PYTHON: 1,
        "<frozen importlib._bootstrap>:<lambda>": 2,
    }


def test_and_to_its_package() -> None:
    assert package_counts(parse_stacks(TEXT))["app.py"] == 75
    assert package_counts(parse_stacks(TEXT))["flask"] == 4


def test_lines_of_no_form_are_left_out() -> None:
    assert parse_stacks("\nno count\n 5\na (b.py:1) -3\na (b.py:1) \u0663\n") == {}
    hostile = "x</script> (a;b|c.py:1) 3\n`f` [g](h) ((app.py:1) 2\n"
    assert sum(parse_stacks(hostile).values()) == 5
