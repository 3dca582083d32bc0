"""CPU time that each request uses while events are measured (bench/plan/events): WORK_MS, in milliseconds."""

import os
import time

work_s = float(os.environ.get("WORK_MS") or 0) / 1000
asked = work_s > 0


def work() -> None:
    """Use the CPU for WORK_MS, by the thread's own clock."""
    end = time.thread_time() + work_s
    while time.thread_time() < end:
        pass
