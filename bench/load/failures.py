"""Messages of verbs: failures, with the exit statuses of `loadgen/measure`, and quoting like bash's."""

from __future__ import annotations

import re

from bench.core.errors import UserError, one_line
from bench.core.files import UNWRITABLE, unwritable
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


LONGEST = 120
_SPECIAL = re.compile(r"([ \t'\"\\|&;()<>!{}*\[\]?^$`,]|\A[#~])")


def quoted(word: str) -> str:
    """The word, quoted like bash's `printf %q`."""
    return _SPECIAL.sub(r"\\\1", word) if word and _is_plain(word) else _ansi(word)


def command_line(command: Command) -> str:
    """A command line in shell syntax, with its standard input."""
    stdin = command.stdin
    text = "'" + stdin.replace("'", "'\\''") + "'" if _is_plain(stdin) else _ansi(stdin)
    return " ".join(map(quoted, command.argv)) + (f" <<<{text}" if stdin else "")


def shortened(text: str) -> str:
    """The first `LONGEST` characters of any text, as one printable word."""
    return quoted(text[:LONGEST])


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _ansi(text: str) -> str:
    """The text quoted as $'...', which allows any character; '' if it is empty."""
    if not text:
        return "''"
    signs = (_sign(byte) for byte in text.encode(errors="surrogateescape"))
    return f"$'{''.join(signs)}'"


def _sign(byte: int) -> str:
    known = {0x0A: "\\n", 0x09: "\\t", 0x0D: "\\r", 0x27: "\\'", 0x5C: "\\\\"}
    return known.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
