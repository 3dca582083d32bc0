"""Finds an app's interface in its source, without importing or running it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.core.files import read_below

INTERFACES = ("wsgi", "asgi", "aiohttp", "tornado")
MAKERS = {
    "flask.Flask": "wsgi",
    "bottle.Bottle": "wsgi",
    "bottle.default_app": "wsgi",
    "falcon.App": "wsgi",
    "falcon.API": "wsgi",
    "falcon.asgi.App": "asgi",
    "hug.API": "wsgi",
    "django.core.wsgi.get_wsgi_application": "wsgi",
    "django.core.asgi.get_asgi_application": "asgi",
    "fastapi.FastAPI": "asgi",
    "starlette.applications.Starlette": "asgi",
    "quart.Quart": "asgi",
    "litestar.Litestar": "asgi",
    "blacksheep.Application": "asgi",
    "sanic.Sanic": "asgi",
    "aiohttp.web.Application": "aiohttp",
    "tornado.web.Application": "tornado",
}
"""Calls that make an app, by full name, and its interface."""
METHODS = {"make_wsgi_app": "wsgi"}
"""Methods that make an app, of any object (Pyramid's Configurator)."""
ARGUMENTS = {("environ", "start_response"): "wsgi", ("scope", "receive", "send"): "asgi"}
DEEPEST = 8


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
    return _of_name(folder, module, name.removesuffix("()"), 0)


def syntax_fault(folder: Path, module: str) -> str:
    """What this program's Python cannot parse in the app's module, which may be of a newer one; empty if nothing."""
    file = module_file(folder, module)
    try:
        if file is not None:
            ast.parse(read_below(folder, str(file)), file.name)
    except SyntaxError as error:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        what = f"{error.filename}, line {error.lineno}, is not valid Python {here}"
        return f"{what}, which reads the source here to find its interface"
    except (ValueError, OSError):
        pass
    return ""


def _of_name(folder: Path, module: str, name: str, depth: int) -> Found | None:
    file = module_file(folder, module) if module and depth < DEEPEST else None
    if file is None:
        return None
    try:
        tree = ast.parse(read_below(folder, str(file)))
    except (SyntaxError, ValueError, OSError):
        return None
    names = dict(_imports(tree, module if file.name == "__init__.py" else module.rpartition(".")[0]))
    for value in _values(tree, name):
        if found := _Module(folder, module, names, depth).of_value(value):
            return found
    if origin := names.get(name):
        parent, _, last = origin.rpartition(".")
        return _of_name(folder, parent, last, depth + 1)
    return None


@dataclass(frozen=True, slots=True)
class _Module:
    """A module with its imports; `depth` counts the steps to it."""

    folder: Path
    name: str
    names: Mapping[str, str]
    """The names that it imports, with their full names."""
    depth: int

    def of_value(self, value: ast.AST) -> Found | None:
        """The interface of a function, a name, or a call that makes an app."""
        deeper = replace(self, depth=self.depth + 1)
        if isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef):
            return deeper.of_function(value)
        called = value.func if isinstance(value, ast.Call) else value
        found = self.of_maker(called) if isinstance(value, ast.Call) else None
        if found is None and isinstance(called, ast.Name):
            found = _of_name(self.folder, self.name, called.id, deeper.depth)
        if found or not isinstance(value, ast.Call) or self.depth >= DEEPEST:
            return found
        # A wrapper around the app: ProxyFix(app), Middleware(app).
        return next(filter(None, map(deeper.of_value, value.args)), None)

    def of_maker(self, called: ast.AST) -> Found | None:
        """The interface of what calling this makes."""
        first, dot, rest = ast.unparse(called).partition(".")
        full = f"{self.names.get(first, first)}{dot}{rest}"
        if full in MAKERS:
            return Found(MAKERS[full], full)
        if isinstance(called, ast.Attribute) and called.attr in METHODS:
            return Found(METHODS[called.attr], called.attr)
        return None

    def of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Found | None:
        """The interface of a function with an app's arguments, or of what the function returns."""
        arguments = tuple(one.arg.lstrip("_") for one in (*node.args.posonlyargs, *node.args.args))
        if arguments in ARGUMENTS:
            return Found(ARGUMENTS[arguments], f"its arguments {', '.join(arguments)}")
        returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]
        for one in returned:
            for value in _values(node, one.id) if isinstance(one, ast.Name) else [one]:
                if value is not node and (found := self.of_value(value)):
                    return found
        return None


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """(name in the module, full name) of everything that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (one.asname or one.name.split(".")[0], one.name if one.asname else one.name.split(".")[0])
                for one in node.names
            )
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*filter(None, above), *([node.module] if node.module else [])])
            yield from ((one.asname or one.name, f"{origin}.{one.name}") for one in node.names)


def _values(tree: ast.AST, name: str) -> Iterator[ast.AST]:
    """The values assigned to a name and the functions with that name, anywhere in the module."""
    for node in ast.walk(tree):
        assigned = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in assigned):
            value = getattr(node, "value", None)
            yield from [value] if isinstance(value, ast.AST) else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield node
