"""Run the load and save its files. Each is written under a temporary name, synced and renamed, so that a file with its
final name is complete; tool.json comes last.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.core.formats import plain
from bench.core.programs import NOT_FOUND, guarded, memory_file, shell_status
from bench.load.answers import SILENT, Answer, ask
from bench.load.failed import TOOL_FAILED, Failed
from bench.load.kernel_counters import Facts, counters, limits, sysctls
from bench.load.start_at import await_start
from bench.load.task import Task
from bench.load.waits import Watch
from bench.load.words import shortened
from bench.tools import TOOLS
from bench.tools.tool import OUTPUT, Command, temporary

TOOL_JSON = "tool.json"
FILES = (*dict.fromkeys(name for tool in TOOLS.values() for name in (OUTPUT, *tool.files)), TOOL_JSON)
"""All that a load may leave, in the order of renaming."""
ROOM_BYTES = 1 << 16
KILLED = (124, 137)
KILL_AFTER_S = 10


def run_and_save(task: Task) -> None:
    """Run the load and save everything; Failed if the tool failed, or its output could not be saved."""
    folder, command = task.folder, task.command()
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    task.write_body()
    _take_room(folder)
    facts: Facts = {"limits": limits(), "sysctls": sysctls()}
    facts |= await_start(os.environ.get("START_AT", ""))
    facts["before"] = counters()
    clock = time.monotonic_ns()
    facts["start_ns"] = time.time_ns()
    with Watch(task.tool.name) as watch:
        status = run_tool(task, command)
        facts |= {"end_ns": time.time_ns(), "exit_status": status, "elapsed_ns": time.monotonic_ns() - clock}
        facts["after"] = counters()
    facts |= {"waits": watch.facts(), "health_after": _health(ask(task))}
    saved = task.tool.save(task.load, folder)
    full = not _has_room(folder)
    _write_tool_json(task, command, facts)
    publish(folder)
    name = task.tool.name
    if status in KILLED:
        late = f"{name} did not end within {plain(task.deadline_s)} s, and was killed"
        raise Failed(TOOL_FAILED, f"{late}: {last_words(folder)}")
    if status:
        raise Failed(TOOL_FAILED, f"{name} ended with status {status}: {last_words(folder)}")
    if full:
        # wrk and ab do not tell that their output could not be written.
        raise Failed(TOOL_FAILED, f"{folder} has no room for the output of {name}: No space left on device")
    if not saved:
        raise Failed(TOOL_FAILED, f"the reports of {name} could not be saved: {last_words(folder)}")


def run_tool(task: Task, command: Command) -> int:
    """Run the tool until it ends or its deadline; the exit status as a shell reports it."""
    output, results = (temporary(task.folder, name) for name in (OUTPUT, task.tool.results))
    with ExitStack() as stack:
        said = stack.enter_context(output.open("wb"))
        result = said if results == output else stack.enter_context(results.open("wb"))
        stdin = subprocess.DEVNULL
        if command.stdin:
            stdin = memory_file(f"{command.stdin}\n".encode())
            stack.callback(os.close, stdin)
        words = guarded(task.deadline_s, KILL_AFTER_S, *command.argv)
        try:
            process = subprocess.Popen(words, stdin=stdin, stdout=result, stderr=said)
        except OSError as error:
            said.write(f"{words[0]}: {error.strerror}\n".encode())
            return NOT_FOUND
        return shell_status(process.wait())


def last_words(folder: Path) -> str:
    """The last line of the tool's output, quoted; '' if there is no output."""
    try:
        output = (folder / OUTPUT).read_bytes()
    except OSError:
        return ""
    return shortened(output.removesuffix(b"\n").rpartition(b"\n")[2].decode(errors="surrogateescape"))


def publish(folder: Path) -> None:
    """Sync and rename the files, tool.json last."""
    there = [name for name in FILES if temporary(folder, name).exists()]
    for name in there:
        handle = os.open(temporary(folder, name), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    for name in there:
        temporary(folder, name).rename(folder / name)


def tool_json(facts: Mapping[str, Any], *, tool: str, version: str, argv: tuple[str, ...], stdin: str) -> str:
    """The text of tool.json: the command, how it ended, and the kernel's counters around it."""
    told = {"schema": 1, "tool": tool, "tool_version": version or None, "argv": argv, "stdin": stdin or None}
    return json.dumps(told | dict(facts), ensure_ascii=False, separators=(",", ":")) + "\n"


def _take_room(folder: Path) -> None:
    """Allocate tool.json before the load: if the load fills the disk, its result must still be written."""
    try:
        handle = os.open(temporary(folder, TOOL_JSON), os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.posix_fallocate(handle, 0, ROOM_BYTES)
        finally:
            os.close(handle)
    except OSError as error:
        raise Failed(TOOL_FAILED, f"cannot write 64 KiB to {folder}") from error


def _has_room(folder: Path) -> bool:
    room = folder / ".room.tmp"
    try:
        room.write_bytes(bytes(ROOM_BYTES))
    except OSError:
        return False
    finally:
        room.unlink(missing_ok=True)
    return True


def _write_tool_json(task: Task, command: Command, facts: Facts) -> None:
    """Write into the allocated file. The tool's version is asked after the load, so that it is not counted."""
    argv, stdin = command.argv, command.stdin
    text = tool_json(facts, tool=task.tool.name, version=task.tool.version(), argv=argv, stdin=stdin)
    with temporary(task.folder, TOOL_JSON).open("r+b") as file:
        file.write(text.encode(errors="replace"))
        file.truncate()


def _health(answer: Answer) -> Facts:
    """Whether the service still answers after the load."""
    return {
        "status": None if answer.status == SILENT else int(answer.status),
        "time_s": float(answer.seconds) if answer.seconds else None,
        "error": answer.error or None,
    }
