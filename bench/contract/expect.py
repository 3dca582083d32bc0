"""What a check raises when an answer is wrong, and how values are shown in its text."""

from collections.abc import Iterator
from contextlib import contextmanager


class Mismatch(Exception):
    """An answer is not what the contract says."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


class TooLate(Mismatch):
    """An answer was right, but took too long in every try; a busy machine may be the reason."""


def expect(holds: bool, expected: str, got: object) -> None:
    """Raise `Mismatch` unless the condition holds."""
    if not holds:
        raise Mismatch(expected, str(got))


@contextmanager
def about(what: str) -> Iterator[None]:
    """Add what was requested to the text of a mismatch."""
    try:
        yield
    except Mismatch as mismatch:
        raise type(mismatch)(f"{mismatch.expected} for {what}", mismatch.got) from None


def brief(value: object) -> str:
    """A value on one line of limited length."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"
