"""Names of variables: a word that could stand for anything is only for what is read at a glance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

VAGUE = frozenset({"one", "found", "told", "own", "every", "rest"})
"""Fine within LINES lines, as in a comprehension; a name that is read further down says what it holds."""
LINES = 3
PACKAGES = ("bench/*", "calibration", "driver")
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
FOLDERS = sorted(path for pattern in PACKAGES for path in ROOT.glob(pattern) if any(path.glob("*.py")))


def vague_names(source: str) -> Iterator[tuple[int, str]]:
    """(line, name) of each vague variable or parameter that is used over more than LINES lines."""
    yield from _vague_in(ast.parse(source))


def _vague_in(scope: ast.AST) -> Iterator[tuple[int, str]]:
    lines: dict[str, list[int]] = {}
    inner: list[ast.AST] = []
    stack = [*ast.iter_child_nodes(scope)]
    while stack:
        node = stack.pop()
        if isinstance(node, SCOPES | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner.append(node)
            continue
        if isinstance(node, ast.Name) and node.id in VAGUE:
            lines.setdefault(node.id, []).append(node.lineno)
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            lines.setdefault(node.arg, []).append(node.lineno)
        stack += ast.iter_child_nodes(node)
    for node in inner:
        # What an inner scope reads of this one counts, unless it binds the name itself.
        outer = VAGUE - _bound(node)
        for use in ast.walk(node):
            if isinstance(use, ast.Name) and use.id in outer:
                lines.setdefault(use.id, []).append(use.lineno)
        yield from _vague_in(node)
    bound = _bound(scope)
    for name, used in lines.items():
        if name in bound and used and max(used) - min(used) >= LINES:
            yield min(used), name


def _bound(scope: ast.AST) -> set[str]:
    """The vague names that a scope binds itself, not in an inner one."""
    names = set()
    stack = [*ast.iter_child_nodes(scope)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            names.add(node.id)
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            names.add(node.arg)
        if isinstance(node, SCOPES | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        stack += ast.iter_child_nodes(node)
    return names


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_name_says_what_it_holds(folder: Path) -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(folder.rglob("*.py"))
        for line, name in sorted(vague_names(path.read_text(encoding="utf-8")))
    ]
    assert not vague


SOURCES_WITH_NAMES = [
    ("def f(found):\n    a = 1\n    b = 2\n    return found", [(1, "found")]),
    ("def f(found):\n    a = 1\n    return found", []),
    ("x = [one for one in range(3)]\n\n\n\ny = [one for one in range(3)]", []),
    ("def f():\n    one = 1\n    a = 2\n\n    def g():\n        return one\n    return g", [(2, "one")]),
    ("def f(service):\n    a = 1\n    b = 2\n    return service", []),
]


@pytest.mark.parametrize(("source", "names"), SOURCES_WITH_NAMES)
def test_vague_names_are_found(source: str, names: list[tuple[int, str]]) -> None:
    assert [*vague_names(source)] == names
