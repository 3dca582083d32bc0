"""Logs of nginx and HAProxy: who sent a bad status, and why."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bench.events.rolling.figures import proxy_figures

LOGS = tomllib.loads(Path(__file__).with_name("proxy_logs.toml").read_text())


@pytest.mark.parametrize("proxy", LOGS)
def test_who_sent_a_bad_status_and_why(proxy: str) -> None:
    assert proxy_figures(proxy, LOGS[proxy]["log"]) == LOGS[proxy]["figures"]


def test_of_none() -> None:
    assert not proxy_figures("", ["request|502|502|-"])
