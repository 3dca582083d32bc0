"""`sample`: the services that the tests verify."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.core.errors import UserError
from bench.matrix.load import load_matrix


def sample_verb(argv: Sequence[str]) -> int:
    """`sample SEED`: services that are worth verifying on every change, space-separated.

    On the default Python all bare apps (every server) and every framework on its first server; on each Python one
    more of all stacks, as the seed says.
    """
    if len(argv) != 1:
        raise UserError("sample takes a seed; see scripts/test.sh --help")
    the_matrix = load_matrix()
    rng = random.Random(argv[0])
    chosen: dict[str, None] = {}
    for python in the_matrix.pythons:
        here = [
            s for s in the_matrix.services if (s.python, s.base) == (python, the_matrix.default_base) and not s.skip
        ]
        if python == the_matrix.default_python:
            chosen |= dict.fromkeys(s.name for s in here if s.framework.name == s.interface)
            chosen |= dict.fromkeys({s.framework.name: s.name for s in reversed(here)}.values())
        chosen |= dict.fromkeys(s.name for s in rng.sample(here, min(1, len(here))))
    print(*chosen)
    return 0
