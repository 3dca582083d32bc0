"""Other work on the server's CPU, as a browser or a build makes it; runs on the host, with Python's standard library.

python3 calibration/busy.py: until it is ended, busy on CPU 0 for 40 % of the time, in bursts of 0.5 to 5 s.

python3 calibration/busy.py FILE: busy for 0, 5, 20 and 50 % of the time, each for some twenty seconds, in bursts of 10
to 200 ms; the order is drawn anew each time. A line of FILE: from and to when, in nanoseconds, and how many per cent.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

CPU = 0
SHARE = 40
"""Per cent."""
LEVELS = (0, 5, 20, 50)
"""Per cent."""
LEVEL_S = 20.0


def burst(seconds: float, share: float) -> None:
    """Busy for so long, then idle until that was so many per cent of the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    time.sleep(seconds * (100 - share) / share)


def level(share: int) -> None:
    """About LEVEL_S seconds of bursts."""
    until = time.monotonic() + LEVEL_S
    while time.monotonic() < until:
        if share:
            burst(random.uniform(0.01, 0.2), share)
        else:
            time.sleep(0.2)


def main() -> None:
    """Until it is ended."""
    os.sched_setaffinity(0, {CPU})
    while len(sys.argv) < 2:
        burst(random.uniform(0.5, 5), SHARE)
    while True:
        for share in random.sample(LEVELS, len(LEVELS)):
            begin = time.time_ns()
            level(share)
            with Path(sys.argv[1]).open("a") as file:
                file.write(f"{begin} {time.time_ns()} {share}\n")


if __name__ == "__main__":
    main()
