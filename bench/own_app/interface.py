"""What an app speaks, read from its source: nothing is imported, and nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
"""What makes an app, by its full name."""
METHODS = {"make_wsgi_app": "wsgi"}
"""The same, of any object: Pyramid's Configurator."""
ARGUMENTS = {("environ", "start_response"): "wsgi", ("scope", "receive", "send"): "asgi"}
DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Found:
    """An interface, and by what it was recognised."""

    interface: str
    by: str


def module_file(folder: Path, module: str) -> Path | None:
    """The file of a module in the app's folder or its `src`; None where there is none."""
    parts = Path(*module.split("."))
    for top in (folder, folder / "src"):
        for name in (parts.with_name(parts.name + ".py"), parts / "__init__.py"):
            if (top / name).is_file():
                return top / name
    return None


def find_interface(folder: Path, module: str, name: str) -> Found | None:
    """What `module:name` speaks; None where its source does not tell."""
    return _of_name(folder, module, name.removesuffix("()"), 0)


def _of_name(folder: Path, module: str, name: str, depth: int) -> Found | None:
    file = module_file(folder, module) if module and depth < DEEPEST else None
    if file is None:
        return None
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return None
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    names = dict(_imports(tree, package))
    for value in _values(tree, name):
        if found := _of_value(folder, module, value, names, depth):
            return found
    if origin := names.get(name):
        parent, _, last = origin.rpartition(".")
        return _of_name(folder, parent, last, depth + 1)
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
    """What is assigned to a name, or defined under it, anywhere in the module."""
    for node in ast.walk(tree):
        assigned = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in assigned):
            value = getattr(node, "value", None)
            yield from [value] if isinstance(value, ast.AST) else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield node


def _of_value(folder: Path, module: str, value: ast.AST, names: dict[str, str], depth: int) -> Found | None:
    if isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef):
        return _of_function(folder, module, value, names, depth)
    if isinstance(value, ast.Name):
        return _of_name(folder, module, value.id, depth + 1)
    if not isinstance(value, ast.Call):
        return None
    found = _of_maker(value.func, names)
    if found is None and isinstance(value.func, ast.Name):
        found = _of_name(folder, module, value.func.id, depth + 1)
    if found:
        return found
    # A wrapper around the app: ProxyFix(app), Middleware(app).
    inner = (_of_value(folder, module, one, names, depth + 1) for one in value.args if depth < DEEPEST)
    return next(filter(None, inner), None)


def _of_maker(called: ast.AST, names: dict[str, str]) -> Found | None:
    full = _full_name(called, names)
    if full in MAKERS:
        return Found(MAKERS[full], full)
    if isinstance(called, ast.Attribute) and called.attr in METHODS:
        return Found(METHODS[called.attr], called.attr)
    return None


def _of_function(
    folder: Path, module: str, node: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, str], depth: int
) -> Found | None:
    arguments = tuple(one.arg.lstrip("_") for one in (*node.args.posonlyargs, *node.args.args))
    if arguments in ARGUMENTS:
        return Found(ARGUMENTS[arguments], f"its arguments {', '.join(arguments)}")
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Return) or inner.value is None:
            continue
        values = [*_values(node, inner.value.id)] if isinstance(inner.value, ast.Name) else [inner.value]
        for value in values:
            if value is not node and (found := _of_value(folder, module, value, names, depth + 1)):
                return found
    return None


def _full_name(node: ast.AST, names: dict[str, str]) -> str:
    """`a.b` with `a` as what it was imported as; anything else is as it is written, and so no known name."""
    first, dot, rest = ast.unparse(node).partition(".")
    return f"{names.get(first, first)}{dot}{rest}"
