"""Breaks decisions of the code, one at a time in a copy of the project, and prints which of them the unit tests catch.

    python3 -m tests.mutation [NUMBER...]     mutants by their number in mutants.toml, from 1; default: all

A mutant is caught if a test fails or does not end in time. The tests are run without mutants first, and must pass. Exit
status 0: enough are caught; 1: not enough; 2: tests fail without a mutant, or a mutant is out of date.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, Popen

from bench.core.typed import typed

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One of mutants.toml, which says what the fields are."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = typed(list[Mutant], tomllib.loads(Path(__file__).with_name("mutants.toml").read_text())["mutant"])
LEAST = 18
"""How many of the twenty must be caught."""
AT_A_TIME = 2
MOST_S = 600
"""Seconds for the tests of one mutant: far more than they take, so that a busy machine does not count as a catch."""
PYTEST = ("pytest", "-x", "-p", "no:cacheprovider", "--no-header")
FAILED = re.compile(r"(?:FAILED|ERROR) (\S+::\S+)|not ok \d+ (.+)")


class OutOfDateError(Exception):
    """The code has changed since a mutant was written, or its tests fail without it."""


def main(arguments: Sequence[str]) -> int:
    """Run the mutants and print the table."""
    chosen = [MUTANTS[int(number) - 1] for number in arguments] or list(MUTANTS)
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_A_TIME):
            copies.put(copy_project(Path(folder) / str(number)))
        try:
            for mutant in chosen:
                mutated(ROOT, mutant)
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                tests = {test for mutant in chosen for test in mutant.tests}
                for found in pool.map(lambda kind: failure_in(copies, kind, 4 * MOST_S), by_kind(tests)):
                    if found is not None:
                        raise OutOfDateError(f"{found} fails without any mutant")
                caught = sum(pool.map(lambda mutant: judge(copies, mutant), chosen))
        except OutOfDateError as error:
            print(f"tests/mutation: {error}", file=sys.stderr)
            return 2
    print(f"{caught} of {len(chosen)} caught")
    return 0 if caught >= LEAST * len(chosen) / len(MUTANTS) else 1


def copy_project(to: Path) -> Path:
    """Copies everything that unit tests read, without runs."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(".git", "results", "__pycache__", ".*_cache"))
    (to / "results").mkdir()
    return to


def mutated(root: Path, mutant: Mutant) -> str:
    """The text of the mutant's file with the decision broken."""
    path = root / mutant.file
    text = path.read_text() if path.exists() else ""
    if (found := text.count(mutant.old)) != 1:
        raise OutOfDateError(f"'{mutant.name}': {mutant.file} has {mutant.old!r} {found} times instead of once")
    broken = text.replace(mutant.old, mutant.new)
    parse = "import ast, sys; ast.parse(sys.stdin.read())"
    check = ["python3", "-c", parse] if path.suffix == ".py" else ["bash", "-n"]
    if subprocess.run(check, input=broken, text=True, check=False).returncode:
        raise OutOfDateError(f"'{mutant.name}': {mutant.file} would be no valid code")
    return broken


def by_kind(tests: Iterable[str]) -> list[list[str]]:
    """The tests grouped into those for pytest and those for bats, without empty groups."""
    ordered = sorted(set(tests))
    shell = [test for test in ordered if test.endswith(".bats")]
    return [kind for kind in ([test for test in ordered if test not in shell], shell) if kind]


def failure_in(copies: SimpleQueue[Path], tests: Sequence[str], most_s: int) -> str | None:
    """The first of these tests that fails, in a free copy; None if all pass."""
    copy = copies.get()
    try:
        return failure(copy, tests, most_s)
    finally:
        copies.put(copy)


def judge(copies: SimpleQueue[Path], mutant: Mutant) -> bool:
    """Whether the mutant is caught; prints its line."""
    copy = copies.get()
    path = copy / mutant.file
    text = path.read_text()
    path.write_text(mutated(copy, mutant))
    found = failure(copy, mutant.tests, MOST_S)
    path.write_text(text)
    copies.put(copy)
    if found is None:
        print(f"SURVIVED  {mutant.file}: {mutant.name}", flush=True)
    else:
        print(f"caught    {mutant.file}: {mutant.name}\n          by {found}", flush=True)
    return found is not None


def failure(copy: Path, tests: Sequence[str], most_s: int) -> str | None:
    """The first test that fails in this copy, or a line that they took longer than `most_s`; None if all pass."""
    for kind in by_kind(tests):
        command = [*(("bats", "--tap") if kind[0].endswith(".bats") else PYTEST), *kind]
        # No bytecode: Python identifies it by size and mtime (s) of the source, which may be equal for a mutant.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        process = Popen(command, cwd=copy, env=env, text=True, stdin=DEVNULL, stdout=PIPE, start_new_session=True)
        late = threading.Timer(most_s, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        said = []
        for line in process.stdout or ():
            said.append(line)
            if found := FAILED.match(line):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                late.cancel()
                return found[1] or f"{', '.join(kind)}: {found[2]}"
        status = process.wait()
        if not late.is_alive():
            return f"the time limit: {' '.join(command)} did not end in {most_s} s"
        late.cancel()
        if status:
            raise OutOfDateError(f"{' '.join(command)} ended with status {status}:\n{''.join(said)[-2000:]}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
