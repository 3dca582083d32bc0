"""What a verb prints and how a function refuses; short names for the types of two fixtures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.__main__ import main

Capture = pytest.CaptureFixture[str]
"""The type of the fixtures `capsys` and `capfd`."""
Patch = pytest.MonkeyPatch


def printed(capsys: Capture, *argv: str, status: int = 0) -> str:
    """What a verb of bench prints, which ends with this status: if it fails, on standard error."""
    assert main(argv) == status
    said = capsys.readouterr()
    return said.err if status else said.out


def refused(
    error: type[BaseException] | tuple[type[BaseException], ...], act: Callable[..., object], *given: Any, **more: Any
) -> Any:
    """The exception that this call raises."""
    with pytest.raises(error) as raised:
        act(*given, **more)
    return raised.value
