"""The type of the fixtures `capsys` and `capfd`."""

import pytest

Capture = pytest.CaptureFixture[str]
