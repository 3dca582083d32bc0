"""`parse`: the output of a load tool as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import BinaryIO, TextIO

from bench.core.errors import UserError
from bench.tools import TOOLS, parse


def parse_verb(argv: Sequence[str], stdin: BinaryIO | None = None, stdout: TextIO | None = None) -> int:
    """`parse TOOL < FILE`: print the parsed output as one JSON object; UserError for an unknown tool."""
    if len(argv) != 1 or argv[0] not in TOOLS:
        raise UserError(f"parse takes one of {', '.join(TOOLS)}, such as: scripts/parse.sh wrk < FILE")
    data = (stdin or sys.stdin.buffer).read()
    print(json.dumps(parse(argv[0], data).as_dict(), allow_nan=False), file=stdout)
    return 0
