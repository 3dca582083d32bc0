"""Messages of verbs: failures, with the exit statuses of `loadgen/measure`, and command lines."""

from __future__ import annotations

import shlex

from bench.core.errors import UserError, one_line
from bench.core.files import UNWRITABLE, unwritable
from bench.core.formats import escaped
from bench.tools.tool import Command

WRONG_USAGE, NO_ANSWER, WRONG_ANSWER, TOOL_FAILED = 2, 10, 11, 12
"""Exit statuses: wrong usage, or a load that the tool cannot generate; the service does not answer; it answers wrongly;
the load tool failed, or its output could not be saved."""


class Failed(Exception):
    """Ends a verb with an exit status; the message is one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def explained(error: Exception) -> str:
    """The message in one line; for an unexpected error, its file and line come first."""
    if isinstance(error, Failed):
        return str(error)
    if isinstance(error, UserError):
        return one_line(error)
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        return unwritable(error)
    trace = error.__traceback__
    while trace and trace.tb_next and "/bench/" in trace.tb_next.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}: " if trace else ""
    return f"{where}{type(error).__name__}: {error}".replace("\n", " ")


def command_line(command: Command) -> str:
    """A command line in shell syntax, with its standard input."""
    return escaped(shlex.join(command.argv) + (f" <<<{shlex.quote(command.stdin)}" if command.stdin else ""))
