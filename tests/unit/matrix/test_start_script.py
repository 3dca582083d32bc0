"""What start scripts execute, read from their texts, against a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.start_command import START, StartCommand
from bench.matrix.start_script import start_words

SCRIPTS = sorted((ROOT / "services/servers").glob("*/start"))
ENVIRONMENTS = {
    "plain": {"PORT": "8080", "WORKERS": "1", "BACKLOG": "2048"},
    "all": {
        **{"PORT": "8080", "WORKERS": "3", "BACKLOG": "16", "THREADS": "7", "KEEPALIVE": "2", "CONNECTIONS": "99"},
        **{"GRACEFUL": "5", "TIMEOUT": "6", "MAX_REQUESTS": "1000", "MAX_REQUESTS_JITTER": "10"},
    },
    "no jitter": {"PORT": "1", "WORKERS": "2", "BACKLOG": "1", "MAX_REQUESTS": "5"},
}


FLAGS = {"plain": [], "all": ["--x", "$(id) `id` a  'b'", "*", "--y=\\"], "no jitter": ["-5"]}


@pytest.mark.parametrize("given", ENVIRONMENTS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.parent.name)
def test_a_shell_executes_the_same(script: Path, given: str, tmp_path: Path) -> None:
    environment, text, flags = ENVIRONMENTS[given], script.read_text(), FLAGS[given]
    words = start_words(text, environment, flags)
    if not text.startswith("#!/bin/sh"):
        assert words == ["python3", START]
        return
    for name in (words[0], "python3"):
        (tmp_path / name).write_text('#!/bin/sh\nprintf "%s\\0" "${0##*/}" "$@"\n')
        (tmp_path / name).chmod(0o755)
    env = {**environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert words[len(words) - len(flags) :] == flags
    done = subprocess.run(["sh", script, *flags], env=env, capture_output=True, text=True, check=True)
    executed = done.stdout.removesuffix("\0").split("\0")
    assert words == [word.replace(f"{tmp_path}/python3", "python3") for word in executed]


@pytest.mark.parametrize(
    "statement",
    ["exec a $(id)", "exec a `id`", "exec a; b", "exec a | b", "exec a >b", "exec a ${A%b}", "exec a & b", "exec a\nb"],
)
def test_what_only_a_shell_knows_is_not_guessed(statement: str) -> None:
    with pytest.raises(UserError):
        start_words(f"#!/bin/sh\nset -eu\n{statement}\n", {"A": "1"})


@pytest.mark.parametrize("value", ["a b", "$(id)", "x;y", "'", "\n"])
def test_a_value_is_one_word(value: str) -> None:
    with pytest.raises(UserError, match="is not one word"):
        start_words('#!/bin/sh\nexec a "$PORT"\n', {"PORT": value})


def test_numbers_are_digits_and_a_template_has_no_code() -> None:
    command = StartCommand(("gunicorn", "--workers", "\u00b2", "app:app"), {"WORKERS": "\u00b2"})
    assert command.waits("", concurrent=False).workers == 1
    own = StartCommand(("python3", START), {"THREADS": "4"})
    assert own.elsewhere("main:app", "serve --threads={threads} {app} {app.__class__} {none}") == (
        "serve --threads=4 main:app {app.__class__} {none}"
    )
