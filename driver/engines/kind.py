"""What kind of engine answers, and what it lacks (docs/engines.md)."""

from __future__ import annotations

import os

from driver.docker import docker

KNOWN = "BENCH_ENGINE_KIND"
"""In the environment of all that is started by who has asked the engine."""
_COMPONENTS = "{{range .Server.Components}}{{.Name}};{{end}}"
_FACTS = "{{.OperatingSystem}}|{{.KernelVersion}}|{{.SecurityOptions}}|{{.CPUSet}}|{{.MemoryLimit}}"


def kinds() -> frozenset[str]:
    """Of `podman`, `rootless`, `elsewhere` (its containers' processes are not this machine's), `no-cpuset` and
    `no-memory` (limits that it ignores), or `docker` alone; none where it does not answer.
    """
    if not os.environ.get(KNOWN):
        components = docker("version", "--format", _COMPONENTS, check=False)
        if components.status:
            return frozenset()
        facts = docker("info", "--format", _FACTS, check=False)
        told = [] if facts.status else facts.out.strip().split("|")
        system, kernel, security, cpuset, memory = (*told, *[""] * 5)[:5]
        lacks = {
            "podman": "Podman" in components.out,
            "rootless": "name=rootless" in security,
            "elsewhere": system.startswith("Docker Desktop") or kernel not in ("", os.uname().release),
            "no-cpuset": cpuset == "false",
            "no-memory": memory == "false",
        }
        os.environ[KNOWN] = " ".join(word for word, found in lacks.items() if found) or "docker"
    return frozenset(os.environ[KNOWN].split())


def results_user() -> str:
    """Who writes results/ in a container: whoever runs this, who is root in the containers of a rootless engine."""
    user = os.getuid()
    return "0:0" if user and "rootless" in kinds() else f"{user}:{os.getgid()}"


def environment() -> dict[str, str]:
    """What Compose has to know of it. Podman has no BuildKit: its own builder is asked."""
    return {"BENCH_USER": results_user(), **({"DOCKER_BUILDKIT": "0"} if "podman" in kinds() else {})}
