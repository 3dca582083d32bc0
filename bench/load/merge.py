"""Merges the outputs of several load generators on one service."""

from __future__ import annotations

from bench.load.failed import TOOL_FAILED, WRONG_USAGE, Failed
from bench.load.save import FILES, TOOL_JSON, publish
from bench.load.task import Task
from bench.plan.measurement import client_folder
from bench.tools.tool import OUTPUT, temporary


def merge_clients(task: Task, clients: int) -> None:
    """Merge what each load generator left in its folder into the files of the measurement."""
    folder = task.folder
    parts = [folder / client_folder(number) for number in range(1, clients + 1)]
    for number, part in enumerate(parts, 1):
        if not (part / TOOL_JSON).is_file():
            raise Failed(TOOL_FAILED, f"client {number} of {clients} has left no tool.json")
    if clients < 2:
        raise Failed(WRONG_USAGE, "the step has one load generator: there is nothing to merge")
    for name in FILES:
        if name != TOOL_JSON:
            (folder / name).unlink(missing_ok=True)
            temporary(folder, name).unlink(missing_ok=True)
    with temporary(folder, OUTPUT).open("wb") as whole:
        for part in parts:
            whole.write(f"== {part.name} of {clients} ==\n".encode())
            whole.write((part / OUTPUT).read_bytes())
    if not task.tool.merge(parts, folder):
        raise Failed(TOOL_FAILED, f"the outputs of {task.tool.name} cannot be merged")
    publish(folder)
