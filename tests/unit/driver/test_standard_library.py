"""The driver needs nothing but Python 3.9 or newer and its standard library."""

from __future__ import annotations

import ast
import sys

import pytest
from captured import Capture, refused
from places import ROOT

NEWER = {("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only")}
"""Arguments that Python 3.9 does not know."""


def test_the_driver_needs_nothing_but_python_3_9() -> None:
    files = sorted((ROOT / "driver").rglob("*.py"))
    assert len(files) > 20
    imported = set()
    for file in files:
        tree = ast.parse(file.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Match), file
            if isinstance(node, ast.Call):
                assert NEWER.isdisjoint((ast.unparse(node.func), one.arg) for one in node.keywords), file
            if isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert imported - {*sys.stdlib_module_names, "driver"} == set()


def test_older_python_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    start = (ROOT / "driver/__init__.py").read_text()
    ast.parse(start, feature_version=(3, 6))
    exec(compile(start, "driver", "exec"), {})
    monkeypatch.setattr(sys, "version_info", (3, 8, 10, "final", 0))
    assert refused(SystemExit, exec, compile(start, "driver", "exec"), {}).code == 2
    assert capsys.readouterr().err == "python3 is Python 3.8.10, but 3.9 or newer is needed\n"
