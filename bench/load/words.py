"""Quotes words as bash does, so that a printed command line can be pasted."""

from __future__ import annotations

import re

from bench.tools.tool import Command

LONGEST = 120
_SPECIAL = re.compile(r"([ \t'\"\\|&;()<>!{}*\[\]?^$`,]|\A[#~])")


def quoted(word: str) -> str:
    """Like `printf %q`."""
    return _SPECIAL.sub(r"\\\1", word) if word and _is_plain(word) else _ansi(word)


def command_line(command: Command) -> str:
    """A command with its standard input."""
    stdin = command.stdin
    text = "'" + stdin.replace("'", "'\\''") + "'" if _is_plain(stdin) else _ansi(stdin)
    return " ".join(map(quoted, command.argv)) + (f" <<<{text}" if stdin else "")


def shortened(text: str) -> str:
    """The beginning of any text, as one printable word."""
    return quoted(text[:LONGEST])


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _ansi(text: str) -> str:
    """Quoted as $'...', which takes any character; '' for an empty word."""
    if not text:
        return "''"
    signs = (_sign(byte) for byte in text.encode(errors="surrogateescape"))
    return f"$'{''.join(signs)}'"


def _sign(byte: int) -> str:
    known = {0x0A: "\\n", 0x09: "\\t", 0x0D: "\\r", 0x27: "\\'", 0x5C: "\\\\"}
    return known.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
