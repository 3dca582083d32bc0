"""What came of one check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """`expected` and `got` are None where the check passed.

    Not part of the JSON: `late`, it failed only because an answer took too long, which may be the machine's fault;
    `answered`, there was one.
    """

    route: str
    check: str
    ok: bool
    expected: str | None
    got: str | None
    seconds: float
    late: bool = False
    answered: bool = True

    def line(self) -> str:
        """The outcome as it is printed."""
        if self.ok:
            return f"ok - {self.route} {self.check}"
        return f"not ok - {self.route} {self.check}: expected {self.expected}, got {self.got}"
