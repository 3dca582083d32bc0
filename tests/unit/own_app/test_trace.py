"""Finding an app's traceback in its server's output."""

from pathlib import Path

import pytest
from tables import rows

from bench.own_app.trace import hint_of, trace_of

LOG = Path(__file__).with_name("gunicorn.log.txt").read_text()


def test_the_exception_with_its_place_in_the_app() -> None:
    lines, words = trace_of(LOG)
    assert words == "ModuleNotFoundError: No module named 'flask_login' (main.py, line 3)"
    assert lines[1].strip() == 'File "/srv/app/main.py", line 3, in <module>'
    assert lines[-1].startswith("ModuleNotFoundError")


def test_of_several_the_last_one() -> None:
    _, words = trace_of(LOG + LOG.replace("flask_login", "other"))
    assert words.startswith("ModuleNotFoundError: No module named 'other'")


def test_none() -> None:
    assert trace_of("all is well\n") == ([], "")
    assert trace_of("Traceback (most recent call last):\n") == ([], "")
    assert trace_of("") == ([], "")


def test_what_a_terminal_would_act_on_is_left_out() -> None:
    assert "\x1b" not in trace_of("Traceback (most recent call last):\nValueError: \x1b[31mred\n")[1]


@pytest.mark.parametrize(("exception", "hint"), rows(__file__, "exceptions"))
def test_what_to_do_about_an_exception(exception: str, hint: str) -> None:
    assert hint_of(exception, "shop.main:app") == hint
