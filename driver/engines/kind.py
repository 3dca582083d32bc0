"""The kind of engine: Docker or Podman, rootless, and what it lacks (docs/engines.md)."""

from __future__ import annotations

import os

from driver.docker import docker

KNOWN = "BENCH_ENGINE_KIND"
"""Environment variable with the answer, so that the engine is asked once."""
_COMPONENTS = "{{range .Server.Components}}{{.Name}};{{end}}"
_FACTS = "{{.OperatingSystem}}|{{.KernelVersion}}|{{.SecurityOptions}}|{{.CPUSet}}|{{.MemoryLimit}}"


def kinds() -> frozenset[str]:
    """Any of `podman`, `rootless`, `elsewhere` (containers run in a virtual machine), `no-cpuset` and `no-memory`
    (limits that are ignored); otherwise `docker`. Empty if the engine does not answer.
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
    """UID:GID for containers that write results/. A rootless engine maps its user to root in containers."""
    user = os.getuid()
    return "0:0" if user and "rootless" in kinds() else f"{user}:{os.getgid()}"


def environment() -> dict[str, str]:
    """Variables for Compose. Podman has no BuildKit and builds with its own builder."""
    return {"BENCH_USER": results_user(), **({"DOCKER_BUILDKIT": "0"} if "podman" in kinds() else {})}
