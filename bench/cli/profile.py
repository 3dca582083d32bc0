"""`profile` and `profile-compose` for scripts/profile.sh: where a worker's time went."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.profiles.stacks import cpu_shares, package_shares
from bench.core.errors import UserError, unknown
from bench.matrix.compose import run_services
from bench.matrix.load import load_matrix


def profile_verb(argv: Sequence[str]) -> int:
    """`profile FILE PATH`: print CPU time (FILE.before, FILE.after) and samples (FILE.raw) under load of PATH."""
    if len(argv) != 2:
        raise UserError("profile takes a file without its extension and a path; see scripts/profile.sh --help")
    before, after, stacks = (Path(f"{argv[0]}.{name}").read_text() for name in ("before", "after", "raw"))
    user, kernel = cpu_shares(before, after, os.sysconf("SC_CLK_TCK"))
    print(f"{argv[1]}: CPU {100 * user:.0f} % in user space, {100 * kernel:.0f} % in the kernel")
    for name, share in package_shares(stacks).items():
        print(f"{100 * share:5.1f} % {name}")
    return 0


def profile_compose_verb(argv: Sequence[str]) -> int:
    """`profile-compose SERVICE`: print the Compose file with this service."""
    matrix = load_matrix()
    found = [service for service in matrix.services if service.name in argv]
    if not found:
        raise unknown("service", " ".join(argv), [service.name for service in matrix.services])
    print(run_services(matrix, found), end="")
    return 0
