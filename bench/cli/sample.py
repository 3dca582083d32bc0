"""`sample`: the services that the project's tests verify."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.core.errors import UserError
from bench.matrix.load import load_matrix


def sample_verb(argv: Sequence[str]) -> int:
    """`sample SEED`: print services that are worth verifying on every change, space-separated.

    On the default Python: every server with a bare app and every framework on its first server. On each Python: one
    more service, drawn with the seed.
    """
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench sample SEED")
    matrix = load_matrix()
    rng = random.Random(argv[0])
    chosen: dict[str, None] = {}
    for python in matrix.pythons:
        here = [s for s in matrix.services if (s.python, s.base) == (python, matrix.default_base) and not s.skip]
        if python == matrix.default_python:
            chosen |= dict.fromkeys(s.name for s in here if s.framework.name == s.interface)
            chosen |= dict.fromkeys({s.framework.name: s.name for s in reversed(here)}.values())
        chosen |= dict.fromkeys(s.name for s in rng.sample(here, min(1, len(here))))
    print(*chosen)
    return 0
