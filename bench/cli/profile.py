"""`profile` for scripts/profile.sh: where a worker's time went."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.profiles.one_service import cpu_shares, package_shares
from bench.core.errors import UserError


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
