"""The machine and the project's state as run.json keeps them; what cannot be read is null, with its reason."""

from __future__ import annotations

import ast
import hashlib
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


STAGES: Mapping[str, tuple[str, ...]] = {
    "measure": (
        *("docker-compose.yml", "loadgen", "postgres", "services", "upstream", "scripts/matrix.sh", "scripts/lib"),
        *(f"bench/{name}" for name in ("contract", "core", "drive", "matrix", "plan", "run")),
    ),
    "judge": (
        *(f"bench/{name}" for name in ("parse", "records", "stats", "validity")),
        *(
            f"bench/analysis/{name}.py"
            for name in ("cells", "comparison", "knee", "latency", "pair_analysis", "verdicts")
        ),
    ),
}
"""What decides a figure: how raw output comes about, and how it is judged. What only shows figures is not in it."""

HARNESS = tuple(part for parts in STAGES.values() for part in parts)


def part_hashes() -> dict[str, str]:
    """sha256 of each part of the project that decides a figure, over the names and content of its files.

    Comments and docstrings do not count: words neither refuse `--resume` nor forbid a comparison.
    """
    return {part: _part_hash(Path(part)) for part in HARNESS}


def harness_hash(hashes: Mapping[str, str] | None = None) -> str:
    """sha256 of all parts together, or of those whose hashes are given."""
    hashes = part_hashes() if hashes is None else hashes
    return hashlib.sha256("".join(f"{part} {value}\n" for part, value in hashes.items()).encode()).hexdigest()


def _part_hash(top: Path) -> str:
    digest = hashlib.sha256()
    for path in [top] if top.is_file() else sorted(top.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".env":
            digest.update(str(path).encode() + b"\0" + content(path) + b"\0")
    return digest.hexdigest()


def content(path: Path) -> bytes:
    """What a file does: Python as its syntax tree without docstrings, the rest without lines of comment alone."""
    data = path.read_bytes()
    if path.suffix == ".py":
        try:
            return _without_docstrings(ast.parse(data)).encode()
        except SyntaxError:
            return data
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.lstrip().startswith(b"#") or line.startswith(b"#!"))


def _without_docstrings(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]  # type: ignore[attr-defined]
    return ast.dump(tree)


def provenance() -> dict[str, Any]:
    """What run.json says of the harness, its images, the engine and the host."""
    state = checkout(os.environ)
    hashes = part_hashes()
    stages = {name: harness_hash({part: hashes[part] for part in parts}) for name, parts in STAGES.items()}
    images = dict(pair.split("=", 1) for pair in os.environ.get("BENCH_IMAGES", "").split() if "=" in pair)
    return {
        "harness": {
            # No git beside `docker-compose up bench`: the commit has to do.
            "version": os.environ.get("BENCH_VERSION") or (state["commit"] or "unknown")[:12],
            "hash": harness_hash(hashes),
            **state,
            "stages": stages,
            "parts": hashes,
            "images": images,
        },
        "containers": os.environ.get("BENCH_CONTAINERS", "up for the whole run, started by Compose"),
        "engine": os.environ.get("BENCH_ENGINE"),
        "host": host_facts(),
    }
