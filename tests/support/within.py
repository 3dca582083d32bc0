"""Runs a command, and ends it and all its processes after so many seconds: within.py SECONDS NAME COMMAND...

A command that is ended prints a failed TAP line with its NAME and what it was running, and its status is 124. SIGTERM
ends it too, so one within.py can run inside another. Runs on the host, with the standard library alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

ENDED = 124
GRACE_S = 30


def processes(session: int) -> list[str]:
    """The processes of a session, as `ps` prints them."""
    done = subprocess.run(
        ["ps", "-o", "pid,etimes,stat,args", "--sort", "pid", "--sid", str(session)],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    return [line[:200] for line in done.stdout.splitlines()]


def end(running: subprocess.Popen[bytes]) -> None:
    """Asks all processes of the command's group to end, then kills those that did not."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(running.pid, sign)
            running.wait(GRACE_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def main(arguments: list[str]) -> int:
    """Run the command; its status, or 124."""
    seconds, name, *command = arguments
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return running.wait(float(seconds))
    except subprocess.TimeoutExpired:
        print(f"not ok - {name} did not end within {float(seconds):g} s; it was running:")
        print(*(f"# {line}" for line in processes(running.pid)), sep="\n", flush=True)
        end(running)
        return ENDED
    except KeyboardInterrupt:
        end(running)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
