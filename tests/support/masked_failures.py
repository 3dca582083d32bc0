"""Finds failures that bash hides in spite of `set -e`: python3 tests/support/masked_failures.py FILE...

- A function that is called in a condition (`if f`, `while f`, `f &&`, `f ||`, `! f`). There, bash ignores `set -e` in
  the whole function, so it and everything that it calls must pass on the failure of each command (`|| return`).
- `<(f)`, `local x=$(f)`, `command "$(f)"`, `<<<"$(f)"`: the status of f is lost.

Shellcheck's optional checks are no substitute: check-set-e-suppressed looks only at files that contain `set -e`, which
libraries do not, and reports every predicate such as is_running; check-extra-masked-returns reports each `$(nproc)`.
The second rule applies to the project's functions, Docker, Python and git. Files run by bats (.bats, and .bash beside
them) are skipped, because bats has its own rules. `# failure ignored: WHY` on the line, or on the line before, makes an
exception. The syntax tree is that of `shfmt --to-json`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Node = dict[str, Any]

AND, OR = 10, 11
"""Operators of a BinaryCmd in shfmt's syntax tree; the others are pipes."""
HARMLESS = frozenset(
    {":", "[", "break", "continue", "echo", "exit", "false", "mapfile", "printf", "read", "return", "set", "shift"}
    | {"sleep", "test", "trap", "true", "unset"}
)
"""Commands that have no failure to lose."""
HANDS_ON = frozenset({"check"})
"""Functions that run the command in their arguments."""
MESSAGES = frozenset({"fail", "say", "warn"})
"""Functions for messages; commands in a message need not succeed."""
IMPORTANT = frozenset({"docker", "git", "python3"})
BESIDE = {"DeclClause": ("Args",), "ForClause": ("Loop",)}
"""Where these have words whose status is lost; other nodes have it in their redirections, if any."""
EXCEPTION = "# failure ignored: "


@dataclass
class Shell:
    """All functions of the scripts, and the findings."""

    functions: dict[str, list[tuple[str, Node]]] = field(default_factory=lambda: defaultdict(list))
    sources: dict[str, list[str]] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    checking: set[str] = field(default_factory=set)

    def excused(self, file: str, line: int) -> bool:
        """Whether the line, or the one before it, explains why its failure does not matter."""
        return any(EXCEPTION in text for text in self.sources[file][max(line - 2, 0) : line])

    def report(self, file: str, node: Node, words: str) -> None:
        """Adds a finding, unless the line is excused."""
        line = node["Pos"]["Line"]
        if not self.excused(file, line):
            self.found.add(f"{file}:{line}: {words}")


def is_of_bats(file: Path) -> bool:
    """Whether bats runs the file."""
    return file.suffix == ".bats" or (file.suffix == ".bash" and any(file.parent.glob("*.bats")))


def main(files: Sequence[str]) -> int:
    """Print all findings; 1 if there are any."""
    shell, trees = Shell(), {}
    for file in (name for name in files if not is_of_bats(Path(name))):
        text = Path(file).read_text()
        shell.sources[file] = text.splitlines()
        done = subprocess.run(["shfmt", "--to-json"], input=text, capture_output=True, text=True, check=True)
        trees[file] = json.loads(done.stdout)
        for node in walk(trees[file]):
            if node.get("Type") == "FuncDecl":
                shell.functions[node["Name"]["Value"]].append((file, node["Body"]))
    for file, tree in trees.items():
        for stmt in walk(tree):
            conditions(shell, file, stmt)
            substitutions(shell, file, stmt)
    print(*sorted(shell.found), sep="\n", end="\n" if shell.found else "")
    return 1 if shell.found else 0


def walk(value: Any) -> Iterator[Node]:
    """The node and all nodes below it."""
    if isinstance(value, dict):
        yield value
        value = [*value.values()]
    for part in value if isinstance(value, list) else ():
        yield from walk(part)


def conditions(shell: Shell, file: str, node: Node) -> None:
    """Report commands whose failure is lost in a condition."""
    kind, stmts = node.get("Type"), list[Node]()
    if kind == "BinaryCmd" and node["Op"] in (AND, OR):
        stmts = [node["X"]]
    elif kind in ("IfClause", "WhileClause"):
        stmts = node.get("Cond") or []
    elif node.get("Negated"):
        stmts = [{**node, "Negated": False}]
    for where, words in lost(shell, file, stmts, tail=True):
        shell.report(file, where, words)


def lost(shell: Shell, file: str, stmts: list[Node], *, tail: bool) -> Iterator[tuple[Node, str]]:
    """Statements whose failure is lost if bash ignores failures; `tail`: the last status is that of the whole."""
    for index, stmt in enumerate(stmts):
        yield from _lost(shell, file, stmt, last=tail and index == len(stmts) - 1)


def _lost(shell: Shell, file: str, stmt: Node, *, last: bool) -> Iterator[tuple[Node, str]]:
    cmd = stmt.get("Cmd") or {}
    kind = cmd.get("Type")
    if kind == "BinaryCmd":
        if cmd["Op"] in (AND, OR):
            yield from _called(shell, cmd["X"])
        else:
            yield from _lost(shell, file, cmd["X"], last=True)
        yield from _lost(shell, file, cmd["Y"], last=last)
    elif kind in ("IfClause", "WhileClause", "ForClause", "CaseClause", "Block", "Subshell"):
        for body in _bodies(cmd):
            yield from lost(shell, file, body, tail=last)
    elif kind == "CallExpr":
        yield from _called(shell, stmt)
        name = name_of(cmd)
        loses = bool(cmd.get("Args")) and name not in HARMLESS and not _pure(shell, name)
        loses = loses or (not cmd.get("Args") and any(n.get("Type") == "CmdSubst" for n in walk(cmd.get("Assigns"))))
        if loses and not last and not stmt.get("Background"):
            yield stmt, f"a failure of '{_text(shell, file, stmt)}' is lost here: bash ignores it in a condition"


def _bodies(cmd: Node) -> Iterator[list[Node]]:
    yield from (cmd[key] for key in ("Then", "Do", "Stmts") if cmd.get(key))
    if cmd.get("Else"):
        yield from _bodies(cmd["Else"])
    yield from (item["Stmts"] for item in cmd.get("Items") or [] if "Stmts" in item)


def _called(shell: Shell, stmt: Node) -> Iterator[tuple[Node, str]]:
    """The failures lost in those of the project's functions that a statement calls."""
    cmd = stmt.get("Cmd") or {}
    if cmd.get("Type") != "CallExpr":
        return
    names = [name_of(cmd)]
    if names[0] in HANDS_ON:
        names += [literal(word) for word in cmd["Args"][1:3]]
    for name in names:
        if name not in shell.functions or name in shell.checking:
            continue
        shell.checking.add(name)
        for file, body in shell.functions[name]:
            stmts = body["Cmd"].get("Stmts") or []
            for where, _ in lost(shell, file, stmts, tail=True):
                line = where["Pos"]["Line"]
                if shell.excused(file, line):
                    continue
                loses = f"loses a failure of '{_text(shell, file, where)}' ({file}:{line})"
                yield stmt, f"{name} is called in a condition and {loses}"
        shell.checking.discard(name)


def substitutions(shell: Shell, file: str, node: Node) -> None:
    """Report commands whose output is used but whose status is lost."""
    kind = node.get("Type")
    if kind == "ProcSubst":
        hidden = [node]
    elif kind == "CallExpr" and name_of(node) in MESSAGES:
        return
    elif kind == "CallExpr":
        assigns = node.get("Assigns") or []
        hidden = list(_substs([node.get("Args") or [], assigns if node.get("Args") else assigns[:-1]]))
        # In an array, the status of all but the last one is lost.
        hidden += [n for one in assigns[-1:] if one.get("Array") for n in list(_substs(one["Array"]))[:-1]]
    else:
        hidden = list(_substs([node.get(key) for key in BESIDE.get(str(kind), ("Redirs",))]))
    for subst in hidden:
        for part in walk(subst.get("Stmts")):
            if part.get("Type") == "CallExpr" and (name := name_of(part)) and _matters(shell, name):
                shell.report(file, part, f"the status of '{name}' is lost: assign its output first")


def _substs(value: Any) -> Iterator[Node]:
    return (node for node in walk(value) if node.get("Type") == "CmdSubst")


def _matters(shell: Shell, name: str) -> bool:
    return name in IMPORTANT or (name in shell.functions and not _pure(shell, name))


def _pure(shell: Shell, name: str) -> bool:
    """Whether a function of the project contains nothing that can fail."""
    bodies = shell.functions.get(name, ())
    calls = (node for _, body in bodies for node in walk(body) if node.get("Type") == "CallExpr" and node.get("Args"))
    names = [name_of(call) for call in calls]
    return bool(bodies) and all(n in HARMLESS or (n != name and _pure(shell, n)) for n in names)


def name_of(cmd: Node) -> str:
    """The name of the called command; `docker` for "$docker"."""
    return literal(cmd["Args"][0]) if cmd.get("Args") else ""


def literal(word: Node) -> str:
    """A word without quotes; for a parameter its name."""
    for node in walk(word):
        if node.get("Type") == "ParamExp":
            return str(node["Param"]["Value"])
        if node.get("Type") in ("Lit", "SglQuoted"):
            return str(node["Value"])
    return ""


def _text(shell: Shell, file: str, node: Node) -> str:
    start, end = node["Pos"], node["End"]
    line = shell.sources[file][start["Line"] - 1]
    return line[start["Col"] - 1 : end["Col"] - 1 if end["Line"] == start["Line"] else None].strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
