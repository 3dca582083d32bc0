"""CPU time, for tests that compare costs independently of the machine's speed."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_of(action: Callable[[], object], tries: int = 3) -> float:
    """CPU seconds of this process for `action`: the minimum of the tries, because other programs can only add to it."""
    used = []
    for _ in range(tries):
        begin = time.process_time()
        action()
        used.append(time.process_time() - begin)
    return min(used)
