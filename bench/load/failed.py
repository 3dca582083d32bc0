"""How a load ends where something is wrong."""

from __future__ import annotations

WRONG_USAGE, NO_ANSWER, WRONG_ANSWER, TOOL_FAILED = 2, 10, 11, 12
"""Exit statuses of `loadgen/measure`: it was called wrongly, or the tool cannot make the load; the service gave no
answer; it answers wrongly; the load tool failed, or its output could not be saved. Others are unexpected failures."""


class Failed(Exception):
    """Ends a verb with a status; the text is one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def explained(error: Exception) -> str:
    """What went wrong, in one line; of an unexpected failure with its file and line."""
    if isinstance(error, Failed):
        return str(error)
    trace = error.__traceback__
    while trace and trace.tb_next and "/bench/" in trace.tb_next.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}: " if trace else ""
    return f"{where}{type(error).__name__}: {error}".replace("\n", " ")
