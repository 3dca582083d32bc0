"""The verb that writes tool.json, in the load generator: once a load, so that it imports little."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.drive.tool_json import tool_object


def tool_json_verb(argv: Sequence[str]) -> int:
    """`tool-json FILE < WORDS`: write tool.json, made of NUL-separated words, over the preallocated FILE."""
    if len(argv) != 1:
        raise UserError("tool-json takes a file, and words on standard input")
    words = sys.stdin.buffer.read().decode(errors="replace").split("\0")[:-1]
    text = json.dumps(tool_object(words), ensure_ascii=False, separators=(",", ":")) + "\n"
    # In place: on a full disk, the blocks that the file already has are the only ones.
    with Path(argv[0]).open("r+b") as file:
        file.write(text.encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return 0
