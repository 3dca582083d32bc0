"""`audit`: known vulnerabilities of what the locks pin."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.matrix.audit import audit, pins
from bench.matrix.project_locks import FOLDERS

UNKNOWN = 3
"""The exit status where not all pins could be looked up, and none of the others has a known vulnerability."""


def audit_verb(argv: Sequence[str]) -> int:
    """`audit [NAME...]`, in services/: print what is known; 1 if anything is, 3 if not all pins could be looked up.

    With NAMEs only the locks of these servers, frameworks and packages; else all, and those of the project itself.
    """
    parser = Parser("lock.sh --audit")
    parser.add_argument("names", nargs="*")
    names = parser.parse_args(argv).names
    locks = sorted(Path("locks").glob("*/*-*.txt"))
    if names:
        missing = [name for name in names if not any(_owner(lock) == name for lock in locks)]
        if missing:
            raise UserError(f"there is no lock of {', '.join(missing)}")
        locks = [lock for lock in locks if _owner(lock) in names]
    else:
        locks += [Path("..", folder, "requirements.txt") for folder in FOLDERS]
    found = pins(locks)
    answer = audit(found)
    if isinstance(answer, str):
        print(f"the vulnerability service does not answer: {answer}", file=sys.stderr)
        return UNKNOWN
    for one in answer.found:
        where = {f"{lock.parent.name}/{lock.stem}" for lock in found[one.pin]}
        fixed = f"fixed in {', '.join(one.fixed_in)}" if one.fixed_in else "no version without it"
        print(f"{'=='.join(one.pin)}: {', '.join(one.names)}; {fixed}; in {', '.join(sorted(where))}")
    if len(answer.unknown) == answer.asked:
        print(
            f"the vulnerability service knows none of {answer.asked} pins: it is not reachable from here",
            file=sys.stderr,
        )
        return UNKNOWN
    for pin in answer.unknown:
        print(f"{'=='.join(pin)}: not known to the service", file=sys.stderr)
    looked_up = answer.asked - len(answer.unknown)
    print(f"{looked_up} of {answer.asked} pins looked up, {len(answer.found)} vulnerabilities known")
    return 1 if answer.found else UNKNOWN if answer.unknown else 0


def _owner(lock: Path) -> str:
    return lock.stem.partition("-")[2]
