"""Runs the `docker` command line. No process started here outlives its caller."""

from __future__ import annotations

import atexit
import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from driver.failure import USER, Failure

LOCK = 9
"""File descriptor of the run's lock; every process that a run starts inherits it (driver/lifecycle/writer.py)."""
TIMEOUT_S = 600.0
LONGEST_S = 86400.0
"""For builds and loads, which may take any time."""
ENGINE_GONE = "the Docker daemon does not answer any more: start it (systemctl start docker)"
SET_UP = "run scripts/setup.sh --setup as root on Debian"
MOST_OUTPUT = 32 << 20
"""A command that prints more bytes than this, where its output is kept in memory, is killed."""
KEPT = 65536
"""Bytes kept of the end of a command's output."""
LIMITED = 'ulimit -d "$0" 2>/dev/null; exec "$@"'
"""Not by the address space, of which a Go program reserves far more than it uses."""
CONFINED = (
    *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "4096"),
    *("--log-driver", "json-file", "--log-opt", "max-size=10m"),
)
"""Restrictions of containers started without Compose; services/template.yml has those of the others."""
INSPECTING = (
    *(*CONFINED, "--memory", "1g", "--ulimit", "nofile=4096", "--cap-add", "SYS_PTRACE", "--user", "0:0"),
    *("--tmpfs", "/tmp", "--entrypoint", ""),
)
"""Options of a container of ours that joins a service's namespaces: only root can inspect other users' processes."""
CLIENT, KIND = "BENCH_DOCKER", "BENCH_ENGINE_KIND"
"""Environment variables with the Docker client and the kind of engine (docs/engines.md), which are looked for once."""
CANDIDATES = ("docker", "/usr/bin/docker", "/usr/local/bin/docker")
COMPOSE = "2.20"
"""The oldest version of Compose that works."""
ENGINE = "23"
"""The oldest version of Docker's engine that works: the builder of older ones cannot read the Dockerfiles."""
OLD = "old-"
_PLUGINS = "{{range .ClientInfo.Plugins}}{{.Name}} {{.Version}};{{end}}"
_COMPONENTS = "{{range .Server.Components}}{{.Name}};{{end}}"
_FACTS = "{{.OperatingSystem}}|{{.KernelVersion}}|{{.SecurityOptions}}|{{.CPUSet}}|{{.MemoryLimit}}|{{.ServerVersion}}"


class DockerError(Exception):
    """A command that failed, in one line."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        """The last line of output that is neither empty nor Docker's hint at its --help."""
        lines = [line for line in (self.out + "\n" + self.err).splitlines() if line.strip() and "--help'" not in line]
        return lines[-1].strip() if lines else ""


def client() -> str:
    """The first Docker client that has Compose and buildx; Failure if there is none."""
    if not os.environ.get(CLIENT):
        os.environ[CLIENT] = next(filter(_works, CANDIDATES), "")
    if not os.environ[CLIENT]:
        raise Failure(USER, f"no Docker with Compose >= {COMPOSE} and buildx: install it, or {SET_UP}")
    return os.environ[CLIENT]


def _works(candidate: str) -> bool:
    try:
        # Without an engine that answers, it fails, but has printed the first line.
        output = run([candidate, "info", "--format", f"{_PLUGINS}\n{_FACTS}"], check=False).out
    except OSError:
        return False
    plugins, _, facts = output.partition("\n")
    # A plugin that does not run has no version.
    has = dict(plugin.split(" ", 1) for plugin in plugins.split(";") if " " in plugin)
    if not has.get("buildx") or _numbers(has.get("compose", "")) < _numbers(COMPOSE):
        return False
    if not os.environ.get(KIND):
        os.environ[KIND] = _kind(candidate, facts)
    return True


def _numbers(version: str) -> list[int]:
    """The numbers of `v2.26.1-4`: 2, 26, 1, 4."""
    return [*map(int, re.findall(r"\d+", version))]


def reach(context: str) -> list[str]:
    """The client's options that select an engine: a context or a URL (ssh://USER@HOST); none for this machine's."""
    if not context:
        return []
    return ["--host", context] if "://" in context else ["--context", context]


def spawn(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Starts a process in its own session, so that Ctrl-C reaches only the driver, which then calls `end`."""
    if os.environ.get("BENCH_DEBUG"):
        print("+", *map(shlex.quote, argv), file=sys.stderr, flush=True)
    inherited = [LOCK] if os.path.lexists(f"/proc/self/fd/{LOCK}") else []
    return subprocess.Popen(list(argv), start_new_session=True, pass_fds=inherited, **options)


def end(process: subprocess.Popen[bytes], patience_s: float = 0.0) -> None:
    """Ends a running process and its group: by SIGKILL; first by SIGTERM, if it has some seconds to end by itself."""
    if process.poll() is not None:
        return
    until = time.monotonic() + patience_s
    with suppress(ProcessLookupError):
        if patience_s:
            os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < until:
            process.poll()
            os.killpg(process.pid, 0)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def docker(*words: str, context: str = "", **options: Any) -> Done:
    """Runs a command of the Docker client; `options` are those of `run`."""
    return run([client(), *reach(context), *words], **options)


def answer(*words: str, context: str, timeout: float = 20) -> str | None:
    """The output of a command on an engine; None if it fails."""
    with suppress(DockerError, OSError):
        return docker(*words, context=context, timeout=timeout).out.strip()
    return None


def pipe(words: Sequence[str], to: Sequence[str], **options: Any) -> Done:
    """Runs two commands of the Docker client, the second with the first one's output; DockerError if either fails."""
    both = (shlex.join([client(), *part]) for part in (words, to))
    return run(["bash", "-o", "pipefail", "-c", " | ".join(both)], **options)


@contextmanager
def or_failure(status: int, words: str) -> Iterator[None]:
    """Turns a DockerError inside the block into a Failure with these words."""
    try:
        yield
    except DockerError as error:
        raise Failure(status, f"{words}: {error}") from error


def in_time(true: Callable[[], bool], tries: int, wait_s: float) -> bool:
    """Polls `true` up to `tries` times, `wait_s` apart; whether it became true."""
    for attempt in range(tries):
        time.sleep(wait_s if attempt else 0)
        if true():
            return True
    return False


def answers() -> bool:
    """Whether this machine's engine answers."""
    return answer("version", "--format", "{{.Server.Version}}", context="", timeout=TIMEOUT_S) is not None


def run(
    argv: Sequence[str],
    *,
    check: bool = True,
    timeout: float = TIMEOUT_S,
    stdin: bytes | IO[bytes] | None = None,
    log: Path | None = None,
    end_alone: bool = False,
    env: Mapping[str, str] | None = None,
    most_mib: int = 0,
) -> Done:
    """Runs one command; DockerError if it fails (unless `check` is false) or takes longer than `timeout` seconds.

    An exception while it runs, such as from a signal, kills the command. `log` receives the output; `end_alone` keeps
    only its last KEPT bytes, for commands with unbounded output. `env` replaces the environment. `most_mib`: the most
    memory of each of its processes, on Linux.
    """
    data = stdin if isinstance(stdin, bytes) else None
    source: Any = subprocess.PIPE if data is not None else (subprocess.DEVNULL if stdin is None else stdin)
    started = ["bash", "-c", LIMITED, str(most_mib << 10), *argv] if most_mib else argv
    with _output(log, end_alone) as to:
        done = _done(spawn(started, stdin=source, stdout=to, stderr=to, env=env), argv, data, timeout)
    if log:
        done = replace(done, out=log.read_bytes()[-KEPT:].decode(errors="replace"))
    if check and done.status:
        raise DockerError(done.last_line or f"{' '.join(argv[:4])} ended with status {done.status}")
    return done


def start_docker(*words: str) -> Callable[[str], Done]:
    """Starts a command that reads standard input. Calling the result with the input waits for the command's end.

    If it is never called, the command is killed when this process exits.
    """
    argv = [client(), *words]
    process = spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    atexit.register(end, process)
    return lambda stdin: _done(process, argv, stdin.encode(), TIMEOUT_S)


def _done(process: subprocess.Popen[bytes], argv: Sequence[str], stdin: bytes | None, timeout: float) -> Done:
    try:
        out, err = _communicate(process, stdin or b"", time.monotonic() + timeout)
        process.wait(timeout)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise DockerError(f"{' '.join(argv[:4])} took longer than {timeout:g} s") from error
    except OverflowError as error:
        raise DockerError(f"{' '.join(argv[:4])} printed more than {MOST_OUTPUT >> 20} MiB") from error
    finally:
        end(process)
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            with suppress(OSError):
                pipe.close()
    return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, until: float) -> tuple[bytes, bytes]:
    """What the command prints; TimeoutError, or OverflowError if that is more than MOST_OUTPUT.

    As `Popen.communicate`, which keeps all that comes: a service's image can print forever.
    """
    outputs: dict[Any, bytearray] = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe}
    with selectors.DefaultSelector() as open_pipes:
        for pipe in outputs:
            open_pipes.register(pipe, selectors.EVENT_READ, pipe)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            open_pipes.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        while open_pipes.get_map():
            ready = open_pipes.select(until - time.monotonic())
            if time.monotonic() > until:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    with suppress(BlockingIOError):
                        stdin = stdin[_write(key.fd, stdin) :]
                    more = stdin
                else:
                    more = os.read(key.fd, 1 << 16)
                    outputs[key.fileobj] += more
                if not more:
                    open_pipes.unregister(key.fileobj)
                    key.data.close()
            if sum(map(len, outputs.values())) > MOST_OUTPUT:
                raise OverflowError
    return bytes(outputs.get(process.stdout, b"")), bytes(outputs.get(process.stderr, b""))


def _write(descriptor: int, data: bytes) -> int:
    """How much was written; all of it if nobody reads it any more."""
    with suppress(BrokenPipeError):
        return os.write(descriptor, data)
    return len(data)


@contextmanager
def _output(log: Path | None, end_alone: bool) -> Iterator[Any]:
    """Where a command writes its output: a pipe, the log, or with `end_alone` a `tail` that writes the log."""
    if log is None:
        yield subprocess.PIPE
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        if not end_alone:
            yield file
            return
        tail = spawn(["tail", "--bytes", str(KEPT)], stdin=subprocess.PIPE, stdout=file)
        try:
            yield tail.stdin
        finally:
            tail.communicate()


def kinds() -> frozenset[str]:
    """The words of `kind_words`, as a set."""
    return frozenset(kind_words().split())


def kind_words() -> str:
    """The kind of engine; empty if it does not answer, Failure if it is too old.

    Any of `podman`, `rootless`, `elsewhere` (containers run in a virtual machine), `no-cpuset` and `no-memory` (it
    ignores these limits); otherwise `docker`.
    """
    docker_client = client()
    if not os.environ.get(KIND):
        facts = docker("info", "--format", _FACTS, check=False)
        os.environ[KIND] = _kind(docker_client, "" if facts.status else facts.out)
    if os.environ[KIND].startswith(OLD):
        version = os.environ[KIND].removeprefix(OLD)
        raise Failure(USER, f"Docker's engine is {version}, and {ENGINE} is the oldest that works: see docs/engines.md")
    return os.environ[KIND]


def _kind(docker_client: str, facts: str) -> str:
    """`facts`: the output of _FACTS."""
    components = run([docker_client, "version", "--format", _COMPONENTS], check=False)
    if components.status:
        return ""
    system, kernel, security, cpuset, memory, version = (*facts.strip().split("|"), *[""] * 6)[:6]
    if "Podman" not in components.out and [0] < _numbers(version) < _numbers(ENGINE):
        return f"{OLD}{version}"
    lacks = {
        "podman": "Podman" in components.out,
        "rootless": "name=rootless" in security,
        "elsewhere": system.startswith("Docker Desktop") or kernel not in ("", os.uname().release),
        "no-cpuset": cpuset == "false",
        "no-memory": memory == "false",
    }
    return " ".join(word for word, holds in lacks.items() if holds) or "docker"


def results_user() -> str:
    """UID:GID for containers that write results/. A rootless engine maps its user to root in containers."""
    user = os.getuid()
    return "0:0" if user and "rootless" in kinds() else f"{user}:{os.getgid()}"


def engine_environment() -> dict[str, str]:
    """Variables for Compose. Podman has no BuildKit and uses its own builder."""
    return {"BENCH_USER": results_user(), **({"DOCKER_BUILDKIT": "0"} if "podman" in kinds() else {})}


def time_ns(text: str) -> int | None:
    """An engine's timestamp (2026-01-01T00:00:00.123456789Z) as ns since the epoch."""
    if not (match := re.match(r"([\d-]+)[T ]([\d:]+)(?:\.(\d+))? ?(Z|[+-][\d:]+)", text)):
        return None
    day, clock, fraction, zone = match.groups()
    whole = datetime.strptime(f"{day} {clock} {zone}", "%Y-%m-%d %H:%M:%S %z")
    return int(whole.timestamp()) * 10**9 + int((fraction or "").ljust(9, "0")[:9])
