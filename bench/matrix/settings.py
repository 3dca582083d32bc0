"""The settings of .env: their names, allowed values and effective values.

An exported variable overrides .env. LOCAL_NAME in services/.env, which scripts/setup.sh writes if the registry
cannot be reached, overrides both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bench.core.errors import UserError

CPUS = (r"(\d+(-\d+)?(,\d+(-\d+)?)*)?", "a list of CPUs such as 0-3 or 1,2 (empty: chosen automatically)")
NUMBER = (r"[1-9]\d{0,6}", "a whole number above 0")
SIZE = (r"[1-9]\d*[kmg]", "a size such as 512m")
PERCENT = (r"\d{1,3}(\.\d{1,3})?", "a percentage such as 5 or 0.5")
IMAGE = (r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", "an image name")

SETTINGS: Mapping[str, tuple[str, str]] = {
    "WORKER_CLASS": (r"sync|gevent", "sync or gevent"),
    "DURATION": (rf"({NUMBER[0]})?", f"{NUMBER[1]}, or empty"),
    "ROUNDS": (r"([1-9]\d?)?", "a number from 1 to 99, or empty"),
    "SEED": (r"\d{1,18}", "a number"),
    "TURN_SECONDS": (r"[1-9]\d?", "a number from 1 to 99"),
    "SELECTION": (r"[A-Za-z0-9 ,.*=_-]*", "flags of scripts/matrix.sh such as --scenario json"),
    "WORKERS": NUMBER,
    "BACKLOG": NUMBER,
    "DB_POOL_TOTAL": NUMBER,
    "UPSTREAM_DELAY_MS": NUMBER,
    "PYTHON_JIT": (r"[01]", "0 or 1"),
    "SERVER_CPUS": CPUS,
    "LOADGEN_CPUS": CPUS,
    "DATABASE_CPUS": CPUS,
    "MEMORY": SIZE,
    "PIDS": NUMBER,
    "NOFILE": NUMBER,
    "MAX_STEAL": PERCENT,
    "MAX_FOREIGN_CPU": PERCENT,
    "MAX_LOADGEN_WAIT": PERCENT,
    "PYTHON_IMAGE": IMAGE,
    "PYPY_IMAGE": IMAGE,
    "DEBIAN_IMAGE": IMAGE,
    "ALPINE_PYTHON_IMAGE": (rf"({IMAGE[0]})?", f"{IMAGE[1]} (empty: as PYTHON_IMAGE)"),
    "COMPOSE_SERVICES": (r"bench|compose", "bench or compose"),
    "BENCH_REGISTRY": (
        r"([a-z0-9.-]+(:\d{1,5})?(/[a-z0-9._-]+)*)?",
        "a registry such as registry.example.org/bench, or empty",
    ),
    "BENCH_SUBNET": (r"\d{1,3}(\.\d{1,3}){3}/\d{1,2}", "a subnet such as 198.18.0.0/24"),
}


def read_env(path: Path) -> dict[str, str]:
    """The KEY=VALUE lines of a dotenv file; empty if there is no file, UserError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    lines = (line.strip() for line in text.split("\n"))
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}


def read_settings(
    environ: Mapping[str, str], root: Path = Path(), then: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The value of every setting; UserError for a value that is not allowed. `then` overrides values of .env."""
    local, dotenv = read_env(root / "services/.env"), read_env(root / ".env") | dict(then or {})
    settings = {}
    for name, (pattern, allowed) in SETTINGS.items():
        value = environ.get(name) or dotenv.get(name, "")
        if not re.fullmatch(pattern, value, re.ASCII):
            raise UserError(f"{name}={value!r} is not {allowed}; fix it in .env or the environment")
        settings[name] = local.get(f"LOCAL_{name}", value)
    return settings
