"""The machine and the project's state as run.json keeps them; what cannot be read is null, with its reason."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CPU = "sys/devices/system/cpu"
GOVERNORS = f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"
# Intel's own driver says whether turbo is off, the others whether boost is on.
TURBO = ((f"{CPU}/intel_pstate/no_turbo", "0"), (f"{CPU}/cpufreq/boost", "1"))
HIDDEN = "this machine does not tell (a virtual one hides it)"
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")


def host_facts(root: Path = Path("/")) -> dict[str, Any]:
    """CPU, memory in bytes, kernel, and what makes a CPU faster or slower: what a reader needs to place the figures."""
    info = _read(root / "proc/cpuinfo") or ""
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.+)$", info, re.MULTILINE)
    governors = sorted({text for path in root.glob(GOVERNORS) if (text := _read(path))})
    smt = _read(root / CPU / "smt/active")
    values = {
        "cpu": model[1].strip() if model else platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "cgroup": "v2" if (root / "sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "governor": ", ".join(governors) or None,
        "turbo": next((("on" if text == on else "off") for name, on in TURBO if (text := _read(root / name))), None),
        "smt": {"0": "off", "1": "on"}.get(smt or ""),
        "virtual": None if flags is None else "yes" if "hypervisor" in flags[1].split() else "no",
    }
    return values | {"missing": {name: HIDDEN for name, value in values.items() if value is None}}


def checkout(environ: Mapping[str, str], root: Path = Path()) -> dict[str, str | None]:
    """Commit and branch, as the script that has git says, else as the files of .git do."""
    commit, branch = environ.get("BENCH_COMMIT"), environ.get("BENCH_BRANCH")
    if not commit:
        commit, branch = _head(root / ".git")
    return {"commit": commit or None, "branch": branch or None}


def _head(git: Path) -> tuple[str | None, str | None]:
    """(commit, branch) of a repository's HEAD; None where it has none, or its files are elsewhere (a work tree's)."""
    head = _read(git / "HEAD") or ""
    reference = head.partition("ref: ")[2]
    if not reference:
        return (head if COMMIT.match(head) else None), None
    commit = _read(git / reference)
    if not commit:
        packed = re.search(rf"^([0-9a-f]+) {re.escape(reference)}$", _read(git / "packed-refs") or "", re.MULTILINE)
        commit = packed[1] if packed else None
    return commit, reference.removeprefix("refs/heads/")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
