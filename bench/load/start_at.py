"""Several load generators on one service start at the same time."""

from __future__ import annotations

import re
import time

from bench.load.failed import WRONG_USAGE, Failed
from bench.load.kernel_counters import Facts

MOST_AHEAD_S = 30
_NANOSECONDS = re.compile(r"[1-9][0-9]{18}\Z", re.ASCII)


def await_start(start_at: str) -> Facts:
    """Wait until `start_at` (ns since the epoch; '': do not wait). tool.json has it, so that a late start shows."""
    if not start_at:
        return {}
    if not _NANOSECONDS.match(start_at):
        raise Failed(WRONG_USAGE, f"START_AT='{start_at}' is no time in nanoseconds since the epoch")
    # Read the clock once: if it were set meanwhile, a loop could wait for ever.
    left_s = (int(start_at) - time.time_ns()) / 1e9
    if left_s > MOST_AHEAD_S:
        raise Failed(WRONG_USAGE, f"START_AT='{start_at}' is more than {MOST_AHEAD_S} s ahead of this machine's clock")
    time.sleep(max(0.0, left_s))
    return {"start_at_ns": start_at}
