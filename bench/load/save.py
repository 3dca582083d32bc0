"""Run a load and save its files.

Each file is written under a temporary name, synced and renamed, so that files with their final names are complete;
tool.json comes last.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import MAX_BYTES, ROOM_BYTES, check_room
from bench.core.formats import plain
from bench.core.programs import KILLED, NOT_FOUND, guarded, memory_file, shell_status
from bench.exchange.kind import SILENT, Response
from bench.load.answers import ask
from bench.load.failures import TOOL_FAILED, Failed
from bench.load.kernel_counters import Facts, Watch, counters, limits, sysctls
from bench.load.sockets import traffic
from bench.load.task import Task
from bench.plan.measurement import shortened
from bench.tools import TOOLS
from bench.tools.tool import OUTPUT, Command, temporary

TOOL_JSON = "tool.json"
FILES = (*dict.fromkeys(name for tool in TOOLS.values() for name in (OUTPUT, *tool.files)), TOOL_JSON)
"""All files that a load may produce, in the order of renaming."""
KILL_AFTER_S = 10


@dataclass(frozen=True, slots=True)
class Ran:
    """A load that has ended: its command line, the tool's exit status, and facts read before and after it."""

    task: Task
    command: Command
    status: int
    facts: Facts


def run_and_save(task: Task) -> None:
    """Run the load and save its files; Failed if the tool failed or its output could not be saved."""
    save_load(run_load(task))


def run_load(task: Task, began: Callable[[], object] = lambda: None) -> Ran:
    """Run the load; its files have temporary names until `save_load`. See `run_tool` for `began`."""
    folder, command = task.folder, task.command()
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    task.write_body()
    _take_room(folder)
    facts: Facts = {"limits": limits(), "sysctls": sysctls(), "lead_requests": task.tool.lead_requests(task.load)}
    clock, opened = time.monotonic_ns(), 0

    def begin() -> None:
        nonlocal clock, opened
        began()
        opened = traffic().opened
        facts["before"] = counters()
        clock = time.monotonic_ns()
        facts["start_ns"] = time.time_ns()

    with Watch(command.argv[0]) as watch:
        status = run_tool(task, command, begin)
        facts |= {"end_ns": time.time_ns(), "exit_status": status, "elapsed_ns": time.monotonic_ns() - clock}
        facts |= {"after": counters(), "opened": traffic().opened - opened}
    return Ran(task, command, status, facts | {"waits": watch.facts()})


def save_load(ran: Ran, more: Facts | None = None) -> None:
    """Save the files of a load, with `more` facts in tool.json; Failed if the load failed or cannot be saved."""
    task, folder = ran.task, ran.task.folder
    facts = ran.facts | {"health_after": _health(ask(task))} | (more or {})
    saved, full = save_reports(task)
    failure = full or _failure(task, ran.status, saved=saved)
    # Write into the preallocated file. The tool's version is only read now, so that this is no part of the load.
    text = tool_json(facts, task.tool.name, task.tool.version(), ran.command.argv, ran.command.stdin)
    with temporary(folder, TOOL_JSON).open("r+b") as file:
        file.write(text)
        file.truncate()
    publish(folder)
    if failure:
        raise Failed(TOOL_FAILED, failure)


def save_reports(task: Task) -> tuple[bool, str]:
    """Make the tool's reports; whether that worked, and why the load failed if files have reached their limit."""
    full = _cut_output(task)
    saved = not full and task.tool.save(task.load, task.folder)
    return saved, full or _cut_output(task)


def _cut_output(task: Task) -> str:
    """Cuts files that have reached their limit, which ended the program that wrote them; why the load failed then."""
    full = ""
    for name in FILES:
        file, most = temporary(task.folder, name), task.load.most_bytes if name == task.tool.results else MAX_BYTES
        if file.exists() and file.stat().st_size >= most:
            os.truncate(file, ROOM_BYTES)
            full = f"{task.tool.name} printed {most >> 20} MiB, which is too much: it repeats responses"
    return full


def _failure(task: Task, status: int, *, saved: bool) -> str:
    """Why the load failed; empty if it did not."""
    name, words = task.tool.name, last_words(temporary(task.folder, OUTPUT))
    if status in KILLED:
        return f"{name} did not end within {plain(task.deadline_s)} s, and was killed: {words}"
    if status:
        return f"{name} ended with status {status}: {words}"
    if not _has_room(task.folder):
        # wrk and ab do not report that their output could not be written.
        return f"{task.folder} has no room for the output of {name}: No space left on device"
    return "" if saved else f"the reports of {name} could not be saved: {words}"


def run_tool(task: Task, command: Command, began: Callable[[], object] = lambda: None) -> int:
    """Run the tool until it ends or reaches its deadline; returns the exit status as a shell reports it.

    `began` is called once, right before the requests that count: nothing is in flight then.
    """
    output, results = (temporary(task.folder, name) for name in (OUTPUT, task.tool.results))
    with ExitStack() as stack:
        said = stack.enter_context(output.open("wb"))
        result = said if results == output else stack.enter_context(results.open("wb"))
        stdin = subprocess.DEVNULL
        if command.stdin:
            stdin = memory_file(f"{command.stdin}\n".encode())
            stack.callback(os.close, stdin)
        words = guarded(task.deadline_s, KILL_AFTER_S, *command.argv, most_bytes=task.load.most_bytes)
        if not task.tool.leads_in:
            began()
        try:
            process = subprocess.Popen(
                words, stdin=stdin, stdout=result, stderr=said, env={**os.environ, "STOP_BEFORE_LOAD": "1"}
            )
        except OSError as error:
            said.write(f"{words[0]}: {error.strerror}\n".encode())
            return NOT_FOUND
        if task.tool.leads_in:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            began()
            if not os.WIFSTOPPED(status):
                return shell_status(os.waitstatus_to_exitcode(status))
            os.killpg(process.pid, signal.SIGCONT)
        return shell_status(process.wait())


def last_words(output: Path) -> str:
    """The last line of a tool's output, as Python writes it; '' if there is none."""
    try:
        text = output.read_bytes()
    except OSError:
        text = b""
    return shortened(text.removesuffix(b"\n").rpartition(b"\n")[2].decode(errors="surrogateescape"))


def publish(folder: Path) -> None:
    """Sync the files and give them their final names, tool.json last."""
    there = [name for name in FILES if temporary(folder, name).exists()]
    for name in there:
        with temporary(folder, name).open("rb") as file:
            os.fsync(file.fileno())
    for name in there:
        temporary(folder, name).rename(folder / name)


def tool_json(facts: Mapping[str, Any], tool: str, version: str, argv: Sequence[str], stdin: str) -> bytes:
    """The content of tool.json: the command and the facts about its run or its turns."""
    told = {"schema": 1, "tool": tool, "tool_version": version or None, "argv": argv, "stdin": stdin or None}
    text = json.dumps(told | dict(facts), ensure_ascii=False, separators=(",", ":")) + "\n"
    return text.encode(errors="replace")


def _take_room(folder: Path) -> None:
    """Allocate tool.json before the load, so that the result can still be written if the load fills the disk."""
    try:
        with temporary(folder, TOOL_JSON).open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
    except OSError as error:
        raise Failed(TOOL_FAILED, f"cannot write 64 KiB to {folder}") from error


def _has_room(folder: Path) -> bool:
    """Whether the file system has room for a small file: tools do not check their writes."""
    with suppress(OSError):
        check_room(folder)
        return True
    return False


def _health(response: Response) -> Facts:
    """The health check after the load, in the form of tool.json."""
    return {
        "status": None if response.status == SILENT else int(response.status),
        "time_s": float(response.seconds) if response.seconds else None,
        "error": response.error or None,
    }
