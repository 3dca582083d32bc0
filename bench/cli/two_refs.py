"""Two refs in one plan, from the options of the command line (scripts/compare.sh)."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix
from bench.own_app.app import LOCKS, read_app, with_own_app
from bench.plan.refs import CHANGED, SIDES, Refs, read_refs
from bench.plan.selection import Selection
from bench.plan.touched import MINUTES, default_selection, default_server

REFS = "refs"
"""Of a run: what scripts/compare.sh checks its refs out with, when it goes on."""
HEAD = "-head"
"""The end of the name of the folder with the head's locks, beside that of the base."""


def refs_of(options: argparse.Namespace, matrix: Matrix, settings: Mapping[str, str]) -> Refs | None:
    """The two refs; None where none are compared. `matrix` has the base's app, if it is one of the user's own."""
    if not options.sides:
        return None
    if options.target:
        raise UserError("--target is no side of two refs: leave it out")
    apps: list[Matrix] = []
    if options.own_head:
        app = replace(read_app(options.own_head), name=read_app(options.own_app).name)
        apps = [matrix, with_own_app(load_matrix(), app, options.p99, HEAD)]
    return read_refs(options.sides, settings, os.environ, apps)


def wanted_of_refs(options: argparse.Namespace, refs: Refs, wanted: Selection) -> Selection:
    """What is measured: where no service is named, those that show the difference, for a few minutes at most."""
    if wanted.preset or wanted.stacks or wanted.servers or (wanted.frameworks and not options.own_app):
        return wanted
    options.max_time = options.max_time or 60 * MINUTES
    if options.own_app:
        return replace(wanted, servers=(default_server(refs, read_app(options.own_app).interface),))
    return default_selection(refs, wanted)


def save_refs(options: argparse.Namespace, folder: Path) -> None:
    """Keep in the run what checks the refs out again, and the locks of the head's app beside those of the base's."""
    if options.sides:
        (folder / REFS).mkdir()
        for name in ("repository", "paths", SIDES, CHANGED):
            shutil.copy(options.sides / name, folder / REFS / name)
    if options.own_head:
        shutil.copytree(options.own_head / "locks", folder / f"{LOCKS}{HEAD}")
