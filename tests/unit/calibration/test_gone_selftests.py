"""Self-tests that are gone: their names end with one line that says what to use instead."""

from __future__ import annotations

import re
import subprocess

import pytest
from places import ROOT

from bench.core.errors import UserError
from calibration.__main__ import judge_verb


@pytest.mark.parametrize("kind", ["hog", "quick", "waits"])
def test_a_self_test_that_is_gone(kind: str) -> None:
    done = subprocess.run(["scripts/selftest.sh", kind], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(rf"selftest.sh: the self-test {kind} is gone: use .* --hog\n", done.stderr)


@pytest.mark.parametrize("kind", ["alone", "hog", "quick", "waits"])
def test_a_judge_that_is_gone(kind: str) -> None:
    with pytest.raises(UserError, match=f"^judge {kind} is gone: .+"):
        judge_verb([kind, "some-run"])
