"""Failures of a load, with the exit statuses of `loadgen/measure`."""

from __future__ import annotations

WRONG_USAGE, NO_ANSWER, WRONG_ANSWER, TOOL_FAILED = 2, 10, 11, 12
"""Exit statuses: wrong usage, or a load that the tool cannot make; the service does not answer; it answers wrongly; the
load tool failed, or its output could not be saved."""


class Failed(Exception):
    """Ends a verb with an exit status; the message is one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def explained(error: Exception) -> str:
    """The message, in one line; an unexpected error is preceded by its file and line."""
    if isinstance(error, Failed):
        return str(error)
    trace = error.__traceback__
    while trace and trace.tb_next and "/bench/" in trace.tb_next.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}: " if trace else ""
    return f"{where}{type(error).__name__}: {error}".replace("\n", " ")
