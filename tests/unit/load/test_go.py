"""The Go tests of the load tools' own programs, which tests/Dockerfile compiles."""

from __future__ import annotations

import subprocess

import pytest

TRIES = 3


@pytest.mark.parametrize("binary", ["pace.test", "streams.test"])
def test_go(binary: str) -> None:
    # They mostly wait; some measure times, for which a machine that runs all tests may be too busy.
    for _ in range(TRIES):
        done = subprocess.run([binary, "-test.parallel=6"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    pytest.fail(done.stdout + done.stderr)
