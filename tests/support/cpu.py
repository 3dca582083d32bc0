"""CPU time, for tests that compare costs independently of the machine's speed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_of(action: Callable[[], object], tries: int = 3) -> float:
    """CPU seconds of this process for `action`: the minimum of the tries, because other programs can only add to it."""
    used = []
    gc.disable()  # A collection visits all objects of all tests, not only those of `action`.
    try:
        for _ in range(tries):
            begin = time.process_time()
            action()
            used.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(used)


def takes_at_most(limit_s: float, action: Callable[[], object], tries: int = 5) -> bool:
    """Whether one of the tries takes no more CPU seconds: caches that other programs use can only make it slower."""
    return any(cpu_of(action, 1) <= limit_s for _ in range(tries))
