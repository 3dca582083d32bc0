"""When a load begins: several load generators on one service begin at one moment."""

from __future__ import annotations

import re
import time

from bench.load.failed import WRONG_USAGE, Failed
from bench.load.kernel_counters import Facts

MOST_AHEAD_S = 30
_NANOSECONDS = re.compile(r"[1-9][0-9]{18}\Z", re.ASCII)


def await_start(start_at: str) -> Facts:
    """Wait until that time (ns since the epoch; '': now). It is kept, so that a late start is seen."""
    if not start_at:
        return {}
    if not _NANOSECONDS.match(start_at):
        raise Failed(WRONG_USAGE, f"START_AT='{start_at}' is no time in nanoseconds since the epoch")
    # Asked once: a clock that is set meanwhile would keep it waiting.
    left_s = (int(start_at) - time.time_ns()) / 1e9
    if left_s > MOST_AHEAD_S:
        raise Failed(WRONG_USAGE, f"START_AT='{start_at}' is more than {MOST_AHEAD_S} s ahead of this machine's clock")
    time.sleep(max(0.0, left_s))
    return {"start_at_ns": start_at}
