"""The driver needs nothing but Python 3.9 or newer and its standard library."""

from __future__ import annotations

import ast
import sys

from places import ROOT


def test_the_driver_needs_nothing_but_python_3_9() -> None:
    files = sorted((ROOT / "driver").rglob("*.py"))
    assert len(files) > 20
    imported = set()
    for file in files:
        tree = ast.parse(file.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Match), file
            if isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    assert imported - {*sys.stdlib_module_names, "driver"} == set()
