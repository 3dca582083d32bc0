"""Finding an app's traceback in its server's output."""

import pytest

from bench.own_app.trace import hint_of, trace_of

LOG = """[2026-01-01 10:00:00 +0000] [7] [INFO] Booting worker with pid: 7
[2026-01-01 10:00:00 +0000] [7] [ERROR] Exception in worker process
Traceback (most recent call last):
  File "/opt/venv/lib/python3.13/site-packages/gunicorn/arbiter.py", line 608, in spawn_worker
    worker.init_process()
  File "/srv/app/main.py", line 3, in <module>
    import flask_login
ModuleNotFoundError: No module named 'flask_login'
[2026-01-01 10:00:00 +0000] [7] [INFO] Worker exiting (pid: 7)
"""


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


PACKAGE = "if that is a package, give --requirements FILE with it"
PYTHON = "mend it, or give --python with the Python that it is written for"
JINJA = "if another version of jinja2 has it, give --requirements FILE with that version"
VARIABLE = "if that is a variable, give it with --env-file"
WRITTEN = "only /tmp and the app's own folder can be written: give another place with --env-file"
TABLES = "give the command that makes its tables with --before"
REACHED = "the app reaches only what --compose starts, by the name of the service: give that name with --env-file"


EXCEPTIONS = [
    ("ModuleNotFoundError: No module named 'flask' (app.py, line 3)", PACKAGE),
    ("ModuleNotFoundError: No module named 'google.cloud'", PACKAGE),
    # The app's own, and those of another Python, which no package has.
    ("ModuleNotFoundError: No module named 'shop.settings'", ""),
    ("ModuleNotFoundError: No module named 'distutils'", PYTHON),
    ("ModuleNotFoundError: No module named 'tomllib'", PYTHON),
    ("SyntaxError: multiple exception types must be parenthesized (deps.py, line 36)", PYTHON),
    ("ImportError: cannot import name 'UTC' from 'datetime' (/usr/local/lib/python3.9/datetime.py)", PYTHON),
    ("ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/collections/__init__.py)", PYTHON),
    ("ImportError: cannot import name 'Mapping' from 'collections.abc' (/usr/lib/collections/abc.py)", PYTHON),
    # A module of the app with the name of one of Python's.
    ("ImportError: cannot import name 'x' from 'platform' (/srv/app/platform.py)", ""),
    ("ImportError: cannot import name 'escape' from 'jinja2' (/opt/venv/lib/jinja2/__init__.py)", JINJA),
    ("KeyError: 'TOKEN' (main.py, line 3)", VARIABLE),
    ("KeyError: 'rows' (main.py, line 3)", ""),
    ("pydantic_core._pydantic_core.ValidationError: 3 validation errors for Settings", VARIABLE),
    ("django.core.exceptions.ImproperlyConfigured: Set the SECRET_KEY environment variable", VARIABLE),
    ("sqlite3.OperationalError: no such table: post", TABLES),
    ('psycopg.errors.UndefinedTable: relation "post" does not exist', TABLES),
    ("pymysql.err.ProgrammingError: (1146, \"Table 'shop.post' doesn't exist\")", TABLES),
    ("ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 5432)", REACHED),
    ("OSError: [Errno 30] Read-only file system: '/data'", WRITTEN),
    ("socket.gaierror: [Errno -2] Name or service not known", REACHED),
    ("", ""),
]


@pytest.mark.parametrize(("exception", "hint"), EXCEPTIONS)
def test_what_to_do_about_an_exception(exception: str, hint: str) -> None:
    assert hint_of(exception, "shop.main:app") == hint
