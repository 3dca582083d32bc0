"""Prints what runs in a service's container, as JSON: its processes, with these variables, and its limits.

Only in the container can the environment of its processes be read without root: driver/services/running.py has it run
there, by any Python that services have. Arguments: names of variables.
"""

from __future__ import annotations

import json
import os
import sys

LIMITS = {
    "MEMORY": ("memory.max", "memory/memory.limit_in_bytes"),
    "CPU_QUOTA": ("cpu.max", "cpu/cpu.cfs_quota_us"),
}
"""The files of each limit below /sys/fs/cgroup, of cgroups v2 and v1."""
MOST_PROCESSES = 4096


def read(path: str, most: int = 4096) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return None


def main() -> None:
    processes = []
    for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int)[:MOST_PROCESSES]:
        argv, environ = read(f"/proc/{pid}/cmdline"), read(f"/proc/{pid}/environ", 1 << 18)
        if argv and int(pid) != os.getpid():
            known = dict(pair.partition("=")[::2] for pair in environ.split("\0")) if environ else None
            asked = None if known is None else {name: known.get(name) for name in sys.argv[1:]}
            processes.append({"argv": argv.split("\0")[:-1], "environment": asked})
    limits = {
        name: next(filter(None, (read(f"/sys/fs/cgroup/{file}") for file in files)), None)
        for name, files in LIMITS.items()
    }
    print(json.dumps({"processes": processes, "limits": limits}))


main()
