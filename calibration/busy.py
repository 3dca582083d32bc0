"""Keeps the server's CPU busy like a browser or a build; runs on the host, with only Python's standard library.

python3 calibration/busy.py: busy on CPU 0 for 40 % of the time, in bursts of 0.5 to 5 s, until killed.
"""

import os
import random
import time

CPU = 0
SHARE = 0.4


def main() -> None:
    """Runs until killed."""
    os.sched_setaffinity(0, {CPU})
    while True:
        seconds = random.uniform(0.5, 5)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
        time.sleep(seconds * (1 - SHARE) / SHARE)


if __name__ == "__main__":
    main()
