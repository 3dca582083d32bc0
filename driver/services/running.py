"""Saves what actually runs in a service: its processes, the variables they have, and limits of the container."""

from __future__ import annotations

import shlex

from driver.docker import DockerError
from driver.engines.engine import Engine
from driver.files import save

READ = """
import json, os, sys

def read(path, most=4096):
    try:
        with open(path, "rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return None

processes = []
for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int)[:4096]:
    argv, environ = read(f"/proc/{pid}/cmdline"), read(f"/proc/{pid}/environ", 1 << 18)
    if argv and int(pid) != os.getpid():
        known = dict(pair.partition("=")[::2] for pair in environ.split("\\0")) if environ else None
        asked = None if known is None else {name: known.get(name) for name in sys.argv[1:]}
        processes.append({"argv": argv.split("\\0")[:-1], "environment": asked})
files = {
    "MEMORY": ("memory.max", "memory/memory.limit_in_bytes"),
    "CPU_QUOTA": ("cpu.max", "cpu/cpu.cfs_quota_us"),
}
limits = {}
for name, own in files.items():
    limits[name] = next(filter(None, (read(f"/sys/fs/cgroup/{file}") for file in own)), None)
print(json.dumps({"processes": processes, "limits": limits}))
"""
"""A program for a service's container: only there its processes' environment can be read without root."""
MOST_BYTES = 1 << 20


def save_running(engine: Engine, service: str) -> None:
    """Saves running.json of a service with settings, which bench/run/process.py compares with those of others."""
    names = [setting.partition("=")[0] for setting in shlex.split(engine.run.services[service].settings)]
    if not names:
        return
    try:
        done = engine.in_service(service, ("python3", "-I", "-S", "-c", READ, *names))
    except DockerError:
        return
    if not done.status and len(done.out) <= MOST_BYTES:
        save(engine.run.service_folder(service) / "running.json", done.out)
