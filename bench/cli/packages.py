"""Verbs for `--package`: on which Pythons packages are wanted, and what their builds have left."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.cli.arguments import parse_selection
from bench.core.arguments import Parser
from bench.core.errors import unknown
from bench.matrix.load import load_matrix
from bench.matrix.made_wheels import wheels_of
from bench.matrix.service import python_label
from bench.matrix.settings import read_settings
from bench.matrix.wheels import write_wheels
from bench.plan.cpus import resolve
from bench.plan.selection import select_pythons


def package_pythons_verb(argv: Sequence[str]) -> int:
    """`package-pythons SELECTION`: print the label and the version of each Python that is selected, a line each."""
    options = parse_selection(argv)
    matrix, name = load_matrix(), options.preset or "all"
    resolve(read_settings(os.environ))
    if name not in matrix.presets:
        raise unknown("preset", name, list(matrix.presets))
    for python in select_pythons(matrix, matrix.presets[name], options.pythons, narrow=options.preset is not None):
        print(python_label(python), python)
    return 0


def packages_verb(argv: Sequence[str]) -> int:
    """`packages ITEMS OUT LABEL...`: check the wheels in OUT that were made of ITEMS, and describe them there."""
    parser = Parser("matrix.sh")
    parser.add_argument("items", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("labels", nargs="+")
    options = parser.parse_args(argv)
    write_wheels(options.out, wheels_of(options.items, options.out, options.labels))
    return 0
