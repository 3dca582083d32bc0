"""python3 -m driver VERB RUN [OPTION...]: one verb of the host's side of a run; the scripts call it.

Exit statuses: 0; 1: it failed; 2: the user can fix it; 3 and 4 of `next`: nothing is left to measure, the time is up; 130:
interrupted. BENCH_DEBUG=1 prints each command that is run.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import List

from driver.docker import DockerError
from driver.failure import RUN, USER, Failure, Interrupted, end_line, warn
from driver.messages import MessageError

VERBS = {
    "hold": "driver.hold",
    "remove": "driver.leftovers",
    "build": "driver.build",
    "begin": "driver.begin",
    "verify": "driver.verify",
    "next": "driver.loop",
    "measure": "driver.measure",
    "profile": "driver.profile",
    "sockets": "driver.sockets",
}
"""The module of each verb has `main(argv) -> int`, where argv begins with the run's name."""


def main(argv: List[str]) -> int:
    """The exit status of a verb."""
    if not argv or argv[0] not in VERBS:
        print(f"usage: python3 -m driver {'|'.join(VERBS)} RUN [OPTION...]", file=sys.stderr)
        return USER
    try:
        status: int = import_module(VERBS[argv[0]]).main(argv[1:])
    except Failure as failure:
        warn(f"{argv[0]}: {failure.words}")
        return failure.status
    except MessageError as error:
        warn(f"{argv[0]}: {error}")
        return USER
    except DockerError as error:
        warn(f"{argv[0]}: {error}")
        return RUN
    except (Interrupted, KeyboardInterrupt):
        end_line()
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
