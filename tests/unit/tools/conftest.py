"""Tests that take a ``sample`` run once with each."""

from __future__ import annotations

import pytest
from parse_samples import ALL, NOT_READ, READ


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for argument, samples in (("sample", ALL), ("read_sample", READ), ("other_sample", NOT_READ)):
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, samples, ids=[sample.name for sample in samples])
