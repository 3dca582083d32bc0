"""The Go tests of the load tools' own programs, which tests/Dockerfile compiles."""

from __future__ import annotations

import subprocess

import pytest


@pytest.mark.parametrize("binary", ["pace.test", "streams.test"])
def test_go(binary: str) -> None:
    # They mostly wait.
    done = subprocess.run([binary, "-test.parallel=6"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
