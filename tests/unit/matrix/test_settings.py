"""The settings of .env: complete, overridable, and checked."""

from __future__ import annotations

import pytest
from captured import refused
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.settings import allowed, read_env, read_settings


def test_env_holds_every_setting_once_with_a_comment() -> None:
    lines = (ROOT / ".env").read_text().splitlines()
    keys = [line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")]
    assert sorted(keys) == sorted(allowed("settings"))
    assert read_settings({}, ROOT)["WORKER_CLASS"] in ("sync", "gevent")


def test_an_exported_setting_wins_over_the_file() -> None:
    assert read_settings({"WORKERS": "3"}, ROOT)["WORKERS"] == "3"
    assert read_settings({"WORKERS": ""}, ROOT)["WORKERS"] == read_env(ROOT / ".env")["WORKERS"]


WRONG = [
    *(("WORKERS", "0"), ("WORKERS", "two"), ("WORKERS", "²"), ("WORKER_CLASS", "threads"), ("PYTHON_JIT", "on")),
    *(("SERVER_CPUS", "0-"), ("MEMORY", "lots"), ("PYPY_IMAGE", "a b"), ("PYTHON_IMAGE", "a b")),
    *(("BENCH_SUBNET", "10.0.0.1"), ("BENCH_REGISTRY", "https://registry.example.org")),
    *(("SELECTION", "$(id)"), ("COMPOSE_SERVICES", "../compose")),
    *(("MAX_STEAL", "1 %"), ("MAX_FOREIGN_CPU", "-5"), ("MAX_LOADGEN_WAIT", "1e3")),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_one_line_that_names_it(name: str, value: str) -> None:
    words = str(refused(UserError, read_settings, {name: value}, ROOT))
    assert name in words and "\n" not in words
