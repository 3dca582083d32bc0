"""`lanes-speed-up`: how much faster a run was on its pairs of nodes than on one."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.errors import UserError
from bench.run.reader import read_run
from bench.words.setup import speed_up_words


def lanes_speed_up_verb(argv: Sequence[str]) -> int:
    """`lanes-speed-up RUN`: print how much faster the run was on its pairs than on one."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench lanes-speed-up RUN")
    print(speed_up_words(read_run(argv[0])))
    return 0
