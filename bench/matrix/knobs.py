"""The knobs of `--vary`: their allowed values, which services read them, and services with varied values.

A knob is an environment variable of the service or a limit of its container. Which variables a service reads is found
in its own files: the server's `start`, the framework's app, and the modules of `services/common` that they import.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path

from bench.core.errors import UserError
from bench.core.service_settings import Settings
from bench.matrix.flags import FLAGS
from bench.matrix.model import Service
from bench.matrix.settings import allowed

CPU_QUOTA = "CPU_QUOTA"
THREADS = "THREADS"
"""Threads per worker, for servers with a thread pool."""
LIMITS: Mapping[str, str] = {CPU_QUOTA: "cpus", "MEMORY": "mem_limit"}
"""The knobs that are limits of the container, with their Compose keys; all others are environment variables."""
WORD = (r"[A-Za-z0-9._:/@%+=-]{1,60}", "a word of letters, digits and ._:/@%+=-")
REF = "REF"
"""The first setting of a service if two refs are compared: the ref that it is from. Not an environment variable."""
FIXED = frozenset({REF, "PORT", "HOME", "PATH", "PYTHONPATH", "SERVER", "FRAMEWORK", "UPSTREAM_URL"})
"""Variables that the harness sets itself, besides DATABASE_*; they cannot be varied."""
AS_FLAGS = frozenset({FLAGS, "GUNICORN_CMD_ARGS"})
"""Not for --vary, because --flags does it: flags of `start` prevail over those in gunicorn's variable."""
AT_ONCE = 16
"""Threads of a service with a user's own app, over all workers, if its server has a thread pool.

As many as the default load of an app has connections, and as a service has database connections (DB_POOL_TOTAL). Event
loops and greenlets can let that many requests wait, too."""
INTERPRETER = "PYTHON*"
JIT = "PYTHON_JIT"
"""Read only by CPython 3.13 and newer."""
LIBC = ("MALLOC_*", "GLIBC_TUNABLES")
"""Variables that glibc reads in every process on Debian."""
MOST_VALUES = 64
LONGEST_NAME = 63
"""The longest name of a service, because it is also a host name."""

Reads = Callable[[Service, str], str | None]
"""Why a service does not read a knob; None if it does."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A knob and its values. `optional`: services that do not read it are measured without it, not skipped."""

    name: str
    values: tuple[str, ...]
    optional: bool = False


def parse_knob(text: str) -> Knob:
    """The knob of an option such as `THREADS=2,4,16`; UserError if the name or a value is not allowed."""
    name, mark, values_text = text.partition("=")
    if not mark or not re.fullmatch(r"[A-Z][A-Z0-9_]{0,40}", name, re.ASCII):
        raise UserError(f"--vary {text!r} is not NAME=VALUE,VALUE, such as THREADS=2,4,16")
    if name in AS_FLAGS:
        raise UserError(f"--vary {name}: use --flags 'SERVER: FLAGS', such as 'gunicorn-*: --preload'")
    if name in FIXED or name.startswith("DATABASE_"):
        raise UserError(f"--vary {name}: the harness needs its value")
    values = tuple(values_text.split(","))
    known = allowed("knobs")
    pattern, what = known.get(name, WORD)
    for value in values:
        if not value:
            raise UserError(f"--vary {text}: a value is empty; give NAME=VALUE,VALUE")
        if not re.fullmatch(pattern, value, re.ASCII):
            raise UserError(f"--vary {name}: {value!r} is not {what}")
    kinds = [_number(value) if name in known else value for value in values]
    twice = next((value for number, value in enumerate(values) if kinds[number] in kinds[:number]), None)
    if twice is not None:
        raise UserError(f"--vary {text}: {twice} is given twice")
    if len(values) > MOST_VALUES:
        raise UserError(f"--vary {name}: {len(values)} values; the limit is {MOST_VALUES}")
    return Knob(name, values)


def check_quotas(knobs: Iterable[Knob], cpus: int | None) -> None:
    """UserError for a CPU quota above the machine's CPUs, which Docker would refuse."""
    for knob in knobs:
        if too_large := [v for v in knob.values if knob.name == CPU_QUOTA and cpus is not None and float(v) > cpus]:
            raise UserError(f"--vary {CPU_QUOTA}: this machine has {cpus} CPUs, which is less than {too_large[0]}")


def _number(value: str) -> Decimal | str:
    """A value to compare: 1 and 1.0 are equal."""
    with suppress(InvalidOperation):
        return Decimal(value)
    return value


def varied(service: Service, values: Sequence[tuple[str, str]]) -> Service:
    """`service` with these values of knobs, and a name that says so: `gunicorn-gthread-flask-py313-debian-threads4`."""
    slugs = "-".join(f"{slug(name)}{slug(value)}" for name, value in values)
    name = f"{service.name}-{slugs}"
    # Values may differ only in characters that a host name cannot have.
    exact = all(re.fullmatch(r"[a-z0-9]+(\.[a-z0-9]+)*", value) for _, value in values)
    name = host_name(name, repr(values), exact=exact)
    return replace(service, name=name, settings=Settings(values), plain=service.name)


def with_threads(service: Service, workers: str) -> Service:
    """`service` with enough threads per worker to have at least `AT_ONCE` in all of its `workers`."""
    own = int(service.settings.get("WORKERS", workers))
    return replace(service, threads=str(-(-AT_ONCE // own)))


def host_name(name: str, what: str, *, exact: bool = True) -> str:
    """A service's name as a valid host name; if too long or not `exact`, a hash of `what` makes it unique."""
    if exact and len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(what.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9].rstrip('-')}-{mark}"


def slug(word: str) -> str:
    """A word as part of a service's name."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def reader(root: Path = Path("services")) -> Reads:
    """A function that says whether a service reads a knob, from the files below `root`."""

    def reads(service: Service, name: str) -> str | None:
        cpython = not service.python.startswith("pypy")
        if name == JIT:
            new = cpython and tuple(map(int, service.python.split("."))) >= (3, 13)
            return None if new else f"Python {service.python} reads no {JIT}: CPython does, from 3.13 on"
        server = service.server
        if flag := shadowing_flag(root / "servers" / server.name / "start", server.reads, name):
            return f"{server.name} is started with {flag}, which prevails over it"
        if _read_by_programs(service, name) or any(_reading(root, folder, name) for folder in _folders(service)):
            return None
        return f"neither {server.name} nor its app reads {name}"

    return reads


def only_start_reads(service: Service, name: str, root: Path) -> bool:
    """Whether only a shell script reads a variable, so that it takes effect in the command line or nowhere."""
    found = [text for folder in _folders(service) for text in _reading(root, folder, name)]
    in_shell = bool(found) and all(text.startswith("#!/bin/sh") for text in found)
    return in_shell and not _read_by_programs(service, name)


def _read_by_programs(service: Service, name: str) -> bool:
    """Whether it is a limit, or a variable that the interpreter, its libraries, the server or the app reads itself."""
    libc = LIBC if service.base == "debian" else ()
    known = (*LIMITS, INTERPRETER, *libc, *service.server.reads, *service.framework.environment)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in known)


def _folders(service: Service) -> tuple[str, str]:
    return f"servers/{service.server.name}", f"frameworks/{service.framework.folder}"


@cache
def _reading(root: Path, folder: str, name: str) -> tuple[str, ...]:
    """The texts in a folder below `root`, and those that they import, that read a variable."""
    # As a variable is written in shell, Python or a format string, but not in a comment.
    pattern = re.compile(rf"""\$\{{?{name}\b|["']{name}["']|\{{{name}\}}""")
    return tuple(text for text in _sources(root, root / folder) if pattern.search(text))


def shadowing_flag(start: Path, patterns: Iterable[str], name: str) -> str | None:
    """The flag of a server's start that makes it ignore its own variable of this name; None if there is none.

    `UVICORN_LOOP` is ignored beside `--loop`, `UVICORN_ACCESS_LOG` beside `--no-access-log`. Flags that start adds only
    if a knob is set do not count.
    """
    prefix = next((one.removesuffix("*") for one in patterns if fnmatch.fnmatchcase(name, one)), None)
    if prefix is None:
        return None
    always = re.sub(r"(?m)^\s*#.*|\$\{\w+:\+[^}]*\}", "", _text(start) or "")
    flag = name.removeprefix(prefix).lower().replace("_", "-")
    found = re.search(rf"(?<![\w-])--(?:no-)?{re.escape(flag)}(?=[\s=])", always) if flag else None
    return found[0] if found else None


def started_with(service: Service, name: str, settings: Mapping[str, str], root: Path = Path("services")) -> str | None:
    """The value of a knob that a service gives its server: from --vary, its files or a setting; None if it has none."""
    given = rf"""\$\{{{name}:-([^}}]+)\}}|(?:get|setdefault)\("{name}", "([^"]+)"\)"""
    texts = _sources(root, root / "servers" / service.server.name)
    in_files = next((found[1] or found[2] for text in texts if (found := re.search(given, text))), None)
    return service.settings.get(name) or in_files or settings.get(name)


def _sources(root: Path, folder: Path) -> Iterator[str]:
    """The texts of a folder's files but its facts, and of the modules of `common` that they import, directly or not."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix != ".toml")
    texts = [text for path in files if (text := _text(path)) is not None]
    seen: set[str] = set()
    while texts:
        text = texts.pop()
        yield text
        for name in _imported(text) - seen:
            seen.add(name)
            found = _text(root / "common" / f"{name}.py")
            texts += [] if found is None else [found]


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() and path.suffix != ".pyc" else None


def _imported(text: str) -> set[str]:
    """The modules of `common` that a file imports."""
    lists = re.findall(r"from common import (?:\(([^)]*)\)|([^\n(]*))", text)
    return {*re.findall(r"\bcommon\.(\w+)", text), *re.findall(r"\w+", " ".join(map(" ".join, lists)))}
