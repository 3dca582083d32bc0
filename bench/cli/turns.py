"""The verb that loads a block of services in turns, in the load generator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.load.block import load_block, read_block, wait_until_ready


def turns_verb(argv: Sequence[str]) -> int:
    """`turns ready|load RUN`: wait for the services of the block in RUN/step.jsonl; load them in turns."""
    if len(argv) != 2 or argv[0] not in ("ready", "load"):
        raise UserError("usage: python3 -m bench turns ready|load RUN")
    block = read_block(Path(argv[1]))
    if argv[0] == "ready":
        wait_until_ready(block)
    else:
        load_block(block, os.environ.get("SEED", ""))
    return 0
