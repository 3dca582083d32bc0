"""The state of the machine and of the project, for run.json; unknown values are null, with the reason."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from bench import __version__
from bench.core.files import text_of

CPU = "sys/devices/system/cpu"
GOVERNORS = f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"
TURBO = ((f"{CPU}/intel_pstate/no_turbo", "0"), (f"{CPU}/cpufreq/boost", "1"))
"""(file, content if turbo is on): intel_pstate reports whether turbo is off, other drivers whether boost is on."""
HIDDEN = "this machine does not report it (virtual machines often hide it)"
COMPOSED = "up for the whole run, started by Compose"
"""How run.json describes the containers of `docker compose up bench`, which has no options, only settings."""
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")


def host_facts(root: Path = Path("/")) -> dict[str, Any]:
    """CPU, memory in bytes, kernel, and settings that affect CPU speed. `root` is the root of the host's files."""
    info = text_of(root / "proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.+)$", info, re.MULTILINE)
    governors = sorted({text for path in root.glob(GOVERNORS) if (text := text_of(path))})
    smt = text_of(root / CPU / "smt/active")
    values = {
        "cpu": model[1].strip() if model else platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "cgroup": "v2" if (root / "sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "governor": ", ".join(governors) or None,
        "turbo": next((("on" if text == on else "off") for name, on in TURBO if (text := text_of(root / name))), None),
        "smt": {"0": "off", "1": "on"}.get(smt),
        "virtual": None if flags is None else "yes" if "hypervisor" in flags[1].split() else "no",
    }
    return values | {"missing": {name: HIDDEN for name, value in values.items() if value is None}}


def checkout(environ: Mapping[str, str], root: Path = Path()) -> dict[str, str | None]:
    """Commit and branch: from the environment, where scripts put them, else from .git (the image has no git)."""
    commit, branch = environ.get("BENCH_COMMIT"), environ.get("BENCH_BRANCH")
    if not commit:
        commit, branch = _head(root / ".git")
    return {"commit": commit or None, "branch": branch or None}


def _head(git: Path) -> tuple[str | None, str | None]:
    """(commit, branch) of a repository's HEAD; None if there is none or .git is a link (in a work tree)."""
    head = text_of(git / "HEAD")
    if not (reference := head.partition("ref: ")[2]):
        return (head if COMMIT.match(head) else None), None
    if not (commit := text_of(git / reference)):
        packed = re.search(rf"^([0-9a-f]+) {re.escape(reference)}$", text_of(git / "packed-refs"), re.MULTILINE)
        commit = packed[1] if packed else ""
    return commit, reference.removeprefix("refs/heads/")


STAGES: Mapping[str, Sequence[str]] = tomllib.loads(text_of(Path(__file__).with_name("stages.toml")))
"""Files and folders (globs) that affect figures, by stage."""

_COMMENTS = re.compile(rb"^(?!#!)[ \t]*#.*\n?", re.MULTILINE)

HARNESS = tuple(dict.fromkeys(part for parts in STAGES.values() for part in parts))


def part_hashes() -> dict[str, str]:
    """sha256 of each part of the project that affects a figure, over the names and content of its files.

    Comments and docstrings do not count, so that rewording neither blocks `--resume` nor makes runs incompatible.
    """
    return {part: _part_hash(part) for part in HARNESS}


def harness_hash(hashes: Mapping[str, str] | None = None) -> str:
    """sha256 over the hashes of the given parts (None: all of them)."""
    hashes = part_hashes() if hashes is None else hashes
    return hashlib.sha256("".join(f"{part} {value}\n" for part, value in hashes.items()).encode()).hexdigest()


def changed_parts(planned: Mapping[str, str]) -> list[str]:
    """The parts of the project that measure and have changed since a run with these hashes of them was planned."""
    return [part for part in STAGES["measure"] if part in planned and _part_hash(part) != planned[part]]


def _part_hash(part: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for top in Path().glob(part) for path in ([top] if top.is_file() else top.rglob("*"))):
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".env":
            digest.update(str(path).encode() + b"\0" + content(path) + b"\0")
    return digest.hexdigest()


def content(path: Path) -> bytes:
    """What is hashed of a file: for Python, what it compiles to without docstrings; else all lines except comments."""
    data = path.read_bytes()
    if path.suffix == ".py":
        try:
            return _compiled(data).encode()
        except SyntaxError:
            return data
    return _COMMENTS.sub(b"", data)


@cache
def _compiled(text: bytes) -> str:
    return _code(compile(text, "", "exec", dont_inherit=True, optimize=2))


def _code(code: CodeType) -> str:
    """All that a code object does, without the lines that it came from."""
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return repr((names, counts, code.co_code, code.co_exceptiontable, [_constant(one) for one in code.co_consts]))


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _code(value)
    # The order within a set differs from process to process.
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def provenance() -> dict[str, Any]:
    """The entries of run.json about the harness, its images, the container engine and the host."""
    state = checkout(os.environ)
    hashes = part_hashes()
    stages = {name: harness_hash({part: hashes[part] for part in parts}) for name, parts in STAGES.items()}
    images = dict(pair.split("=", 1) for pair in os.environ.get("BENCH_IMAGES", "").split() if "=" in pair)
    return {
        "harness": {
            "release": __version__,
            # `docker compose up bench` has no git to describe the checkout with.
            "version": os.environ.get("BENCH_VERSION") or (state["commit"] or "unknown")[:12],
            "hash": harness_hash(hashes),
            **state,
            "stages": stages,
            "parts": hashes,
            "images": images,
        },
        "containers": os.environ.get("BENCH_CONTAINERS", COMPOSED),
        "engine": os.environ.get("BENCH_ENGINE"),
        "host": host_facts(),
    }
