"""The Go tests of the load tools' own programs, which tests/Dockerfile compiles."""

from __future__ import annotations

import subprocess

import pytest


@pytest.mark.parametrize("binary", ["pace.test", "streams.test"])
def test_go(binary: str) -> None:
    done = subprocess.run([binary], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
