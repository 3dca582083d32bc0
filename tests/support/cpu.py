"""CPU time, for tests that hold one cost against another: how fast the machine is must not decide."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_of(action: Callable[[], object], tries: int = 3) -> float:
    """Seconds of this process's CPU that `action` takes, the least of the tries: what else runs only adds."""
    used = []
    for _ in range(tries):
        begin = time.process_time()
        action()
        used.append(time.process_time() - begin)
    return min(used)
