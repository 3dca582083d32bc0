"""`lock`: pin the dependencies of servers, frameworks and driver sets, and of the project itself."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.matrix.locks import relock
from bench.matrix.project_locks import relock_project


def lock_verb(argv: Sequence[str]) -> int:
    """`lock [--check] [--upgrade] [NAME...]`, in services/: write the locks; 1 if --check finds one out of date.

    With NAMEs only the locks of these servers and frameworks are made.
    """
    parser = Parser("lock.sh")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--upgrade", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(argv)
    matrix = load_matrix(Path("matrix.toml"))
    if unknown := set(options.names) - matrix.servers.keys() - matrix.frameworks.keys() - matrix.selftests.keys():
        raise UserError(f"no server or framework is named {', '.join(sorted(unknown))}")
    arguments = options.names, options.check, options.upgrade
    try:
        stale = [path for python in matrix.pythons for path in relock(matrix, python, *arguments)]
        if not options.names:
            stale += relock_project(Path(".."), options.check, options.upgrade)
    except subprocess.CalledProcessError as error:
        raise UserError(f"{' '.join(error.cmd[:3])} failed: {error.stderr or 'see above'}") from error
    for path in stale:
        print(f"{path}: {'out of date' if options.check else 'written'}")
    return 1 if options.check and stale else 0
