"""Property tests on damaged input: a short deterministic run, or a long random one.

`FUZZ_SECONDS=600 pytest tests/unit -k fuzz -s` runs each of them that long, with a new seed for every 200 examples.
Add what it finds to the test's `kept`.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
_UNCHECKED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_LIMITS = settings(database=None, deadline=None, suppress_health_check=_UNCHECKED)


def fuzz(
    strategy: st.SearchStrategy[Any], *, examples: int, kept: Sequence[Any] = ()
) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Decorates a test of one value: runs it with `examples` of the strategy, always the same, and with `kept`."""

    def decorate(test: Callable[[Any], None]) -> Callable[[], None]:
        tried = itertools.count()

        def counted(value: Any) -> None:
            next(tried)
            test(value)

        # The name that hypothesis prints if it fails.
        counted.__name__ = counted.__qualname__ = test.__name__
        counted.__module__ = test.__module__

        def search(number: int | None) -> None:
            found = given(strategy)(counted)
            for value in kept:
                found = example(value)(found)
            if number is None:
                phases = (Phase.explicit, Phase.generate)
                settings(_LIMITS, max_examples=examples, derandomize=True, phases=phases)(found)()
            else:
                seed(number)(settings(_LIMITS, max_examples=200)(found))()

        def run() -> None:
            if not SECONDS:
                search(None)
                return
            begin = time.monotonic()
            while time.monotonic() < begin + SECONDS:
                search(time.time_ns())
            print(f"{test.__name__}: {next(tried)} examples in {time.monotonic() - begin:.0f} s")

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


ODD_NUMBERS = (
    *("-1", "0", "00", "9" * 18, "9" * 19, "9" * 400, "9" * 5000, "1e999", "1e-999", "-0", "0.0", ".5", "5.", "1,234"),
    *("0x10", "NaN", "nan", "-nan", "inf", "+Inf", "1_0", "١٢", "²", "4294967296", "18446744073709551616"),
    "2562047h47m16.854775807s",
)
ODD_TEXT = (
    *("", " ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "\x85", "\u2028", "\u202e", "\u200f", "\ufeff", "\ud800"),
    *("é", "😀", "$(id)", "`id`", "'", '"', "\\", "|", "</script>", "<!--", "{{ 7*7 }}", "-x", "--"),
    *("../../etc/passwd", "/etc/passwd", "a" * 5000, "[" * 2000, "null", "true", "=cmd|' /C calc'!A0", "%s", "{0}"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 10**40, 10**400, 0.5, -0.5, 1e308, 5e-324, float("nan"), float("inf")),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": [1, {"b": "c"}]}, *ODD_TEXT),
)


@st.composite
def damaged_text(draw: st.DrawFn, text: str) -> str:
    """The text after one to five edits that imitate damaged files."""
    for _ in range(draw(st.integers(1, 5))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 30))
        lines = text.split("\n")
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 8)):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + draw(st.sampled_from(ODD_TEXT)) + text[at:]
            case 2:
                text = text[:at] + draw(st.text(max_size=10)) + text[at + length :]
            case 3:
                text = with_number(text, at, draw(st.sampled_from(ODD_NUMBERS)))
            case 4:
                text = "\n".join((*lines[:line], *lines[line + 1 :]))
            case 5:
                other = draw(st.integers(0, len(lines)))
                text = "\n".join((*lines[:other], lines[line], *lines[other:]))
            case 6:
                text = text[:at]
            case 7:
                text = with_number(text, at, str(draw(st.integers(0, 10**18))))
            case _:
                text = text[:at] + text[at : at + length] * draw(st.integers(2, 1000)) + text[at:]
    return text


def with_number(text: str, at: int, number: str) -> str:
    """The text with the first number after `at` replaced."""
    begin = next((place for place in range(at, len(text)) if text[place].isdecimal()), len(text))
    end = next((place for place in range(begin, len(text)) if text[place] not in "0123456789."), len(text))
    return text[:begin] + number + text[end:]


@st.composite
def damaged_value(draw: st.DrawFn, value: Any) -> Any:
    """The JSON value after one to three parts were replaced, removed or added."""
    for _ in range(draw(st.integers(1, 3))):
        value = _damaged(draw, value)
    return value


def _damaged(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict | list) and value and draw(st.integers(0, 4)):
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        key = draw(st.sampled_from(keys))
        changed = dict(value) if isinstance(value, dict) else list(value)
        changed[key] = _damaged(draw, value[key])
        return changed
    if isinstance(value, dict) and value and draw(st.booleans()):
        gone = draw(st.sampled_from(sorted(value)))
        return {key: kept for key, kept in value.items() if key != gone}
    if isinstance(value, dict) and draw(st.booleans()):
        return value | {draw(st.sampled_from(ODD_TEXT)): draw(st.sampled_from(ODD_VALUES))}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [*value, *value]
    return draw(st.sampled_from(ODD_VALUES))


def damaged_json(text: str) -> st.SearchStrategy[str]:
    """The JSON text with its value or its text damaged."""
    return st.one_of(damaged_value(json.loads(text)).map(json.dumps), damaged_text(text))


def as_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
