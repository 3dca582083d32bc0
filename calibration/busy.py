"""Keeps the server's CPU busy like a browser or a build; runs on the host, with only Python's standard library.

python3 calibration/busy.py: busy on CPU 0 for 40 % of the time, in bursts of 0.5 to 5 s, until killed.

python3 calibration/busy.py FILE: busy for 0, 5, 20 and 50 % of the time, about twenty seconds each and in a new random
order every time, in bursts of 10 to 200 ms. Lines of FILE: begin and end in ns since the epoch, and the percentage.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

CPU = 0
SHARE = 40
"""Percent of the time."""
LEVELS = (0, 5, 20, 50)
"""Percent of the time."""
LEVEL_S = 20.0


def burst(seconds: float, share: float) -> None:
    """Busy for `seconds`, then idle until that was `share` percent of the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    time.sleep(seconds * (100 - share) / share)


def level(share: int) -> None:
    """Makes bursts for about LEVEL_S seconds."""
    until = time.monotonic() + LEVEL_S
    while time.monotonic() < until:
        if share:
            burst(random.uniform(0.01, 0.2), share)
        else:
            time.sleep(0.2)


def main() -> None:
    """Runs until killed."""
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
