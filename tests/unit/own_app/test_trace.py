"""Finding an app's traceback in its server's output."""

from bench.own_app.trace import trace_of

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
    assert trace_of(LOG + LOG.replace("flask_login", "other"))[1].startswith(
        "ModuleNotFoundError: No module named 'other'"
    )


def test_none() -> None:
    assert trace_of("all is well\n") == ([], "")
    assert trace_of("Traceback (most recent call last):\n") == ([], "")
    assert trace_of("") == ([], "")


def test_what_a_terminal_would_act_on_is_left_out() -> None:
    assert "\x1b" not in trace_of("Traceback (most recent call last):\nValueError: \x1b[31mred\n")[1]
