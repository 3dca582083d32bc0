"""Finds an app's interface in its source, without importing or running it: only what is plain to see.

For all others, the driver imports the app in an image of its own (services/own/interface.py).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bench.core.files import read_below
from bench.core.tables import table_beside

INTERFACES = ("wsgi", "asgi", "aiohttp", "tornado")
METHODS = {"make_wsgi_app": "wsgi"}
"""Methods that make an app, of any object (Pyramid's Configurator)."""
MOST_FOLLOWED = 50
ARGUMENTS = {("environ", "start_response"): "wsgi", ("scope", "receive", "send"): "asgi"}


@cache
def _makers() -> Mapping[str, Sequence[str]]:
    """Calls that make an app, by its interface."""
    return table_beside(__file__, dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class Found:
    """An interface, and what gave it away."""

    interface: str
    by: str


def module_file(folder: Path, module: str) -> Path | None:
    """The file of a module in the app's folder or its `src`; None if there is none."""
    parts = Path(*module.split("."))
    for top in (folder, folder / "src"):
        for name in (parts.with_name(parts.name + ".py"), parts / "__init__.py"):
            if (top / name).is_file():
                return top / name
    return None


def find_interface(folder: Path, module: str, name: str) -> Found | None:
    """The interface of `module:name`; None if its source does not show it."""
    return _Reader(folder).of_name(module, name.removesuffix("()"))


def syntax_fault(folder: Path, module: str, python: str) -> str:
    """What is not valid in the app's module on this Python; empty if nothing, or if it is newer than this program's."""
    version = tuple(map(int, re.findall(r"\d+", python)))
    file = module_file(folder, module)
    try:
        if file is not None and version <= sys.version_info[:2]:
            ast.parse(read_below(folder, str(file)), file.name)
    except SyntaxError as error:
        return f"{error.filename}, line {error.lineno}, is not valid Python {'.'.join(map(str, version))}"
    except (ValueError, OSError, RecursionError, MemoryError):
        pass
    return ""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Follows names through the modules of an app's folder."""

    folder: Path
    followed: set[object] = field(default_factory=set)

    def follows(self, what: object) -> bool:
        """Whether to follow a name or function: each once, and not too many, however they refer to each other."""
        goes_on = what not in self.followed and len(self.followed) < MOST_FOLLOWED
        self.followed.add(what)
        return goes_on

    def of_name(self, module: str, name: str) -> Found | None:
        """The interface of `module:name`."""
        file = module_file(self.folder, module) if module and self.follows((module, name)) else None
        if file is None:
            return None
        try:
            tree = ast.parse(read_below(self.folder, str(file)))
        except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
            return None
        names = dict(_imports(tree, module if file.name == "__init__.py" else module.rpartition(".")[0]))
        if values := [*_values(tree, name)]:
            return _Module(self, module, names).of_values(values)
        parent, _, last = names.get(name, "").rpartition(".")
        return self.of_name(parent, last)


@dataclass(frozen=True, slots=True)
class _Module:
    """A module with its imports."""

    reader: _Reader
    name: str
    names: Mapping[str, str]
    """The names that it imports, with their full names."""

    def of_values(self, values: Iterable[ast.AST]) -> Found | None:
        """The interface of what a name stands for; None if its values differ in it."""
        found = [one for value in values if (one := self.of_value(value))]
        return found[0] if len({one.interface for one in found}) == 1 else None

    def of_value(self, value: ast.AST) -> Found | None:
        """The interface of a function, a name, or a call that makes an app."""
        if isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.of_function(value)
        called = value.func if isinstance(value, ast.Call) else value
        interface = self.of_maker(called) if isinstance(value, ast.Call) else None
        if interface is None and isinstance(called, ast.Name):
            interface = self.reader.of_name(self.name, called.id)
        if interface or not isinstance(value, ast.Call):
            return interface
        # A wrapper around the app: ProxyFix(app), Middleware(app).
        return next(filter(None, map(self.of_value, value.args)), None)

    def of_maker(self, called: ast.AST) -> Found | None:
        """The interface of what calling this makes."""
        first, dot, rest = ast.unparse(called).partition(".")
        full = f"{self.names.get(first, first)}{dot}{rest}"
        if interface := next((name for name, makers in _makers().items() if full in makers), None):
            return Found(interface, full)
        if isinstance(called, ast.Attribute) and called.attr in METHODS:
            return Found(METHODS[called.attr], called.attr)
        return None

    def of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Found | None:
        """The interface of a function with an app's arguments, or of what the function returns."""
        arguments = tuple(one.arg.lstrip("_") for one in (*node.args.posonlyargs, *node.args.args))
        if arguments in ARGUMENTS:
            return Found(ARGUMENTS[arguments], f"its arguments {', '.join(arguments)}")
        if not self.reader.follows(node):
            return None
        returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
        named = (value for one in returned for value in (_values(node, one.id) if isinstance(one, ast.Name) else [one]))
        return self.of_values(value for value in named if value is not node)


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """(name in the module, full name) of everything that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                yield one.asname or top, one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*filter(None, above), *([node.module] if node.module else [])])
            yield from ((one.asname or one.name, f"{origin}.{one.name}") for one in node.names)


def _values(tree: ast.AST, name: str) -> Iterator[ast.AST]:
    """The values assigned to a name and the functions with that name, anywhere in the module."""
    for node in ast.walk(tree):
        assigned = node.targets if isinstance(node, ast.Assign) else []
        assigned = [node.target] if isinstance(node, ast.AnnAssign) else assigned
        if any(isinstance(target, ast.Name) and target.id == name for target in assigned):
            value = getattr(node, "value", None)
            yield from [value] if isinstance(value, ast.AST) else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield node
