"""`python3 -m bench VERB ...`: what the scripts call. Run in the project's folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from bench.core.errors import UserError, one_line
from bench.core.files import UNWRITABLE, unwritable

_MODULES = {
    "matrix": "profile-compose scaffold lock audit own-binds own-binds-read",
    "generated": "generate",
    "plan": "list plan contract commands package-pythons packages",
    "repeat": "again find resume",
    "own_app": "own-app own-build-cause own-trace own-answers own-selection target-answers",
    "verify": "verify summary",
    "sockets": "sockets",
    "steps": "next profile-next service-failed equal-sides retry nothing-measured",
    "load": "counters counters-reached parse",
    "audit": "audit-table",
    "report": "build publish site export profile",
    "compare": "comparable compare pr-comment bisect",
}
VERBS = {verb: module for module, verbs in _MODULES.items() for verb in verbs.split()}
"""verb -> its module in cli/, which is imported only when the verb is called, so that quick verbs stay quick."""


def main(argv: Sequence[str]) -> int:
    """Run one verb and return the exit status.

    0: done; 1: something failed; 2: an error that the user can fix, printed in one line; 3: equal sides; 130: Ctrl-C.
    """
    if not argv or argv[0] not in VERBS:
        print(f"bench: unknown verb; there are: {', '.join(VERBS)}", file=sys.stderr)
        return 2
    verb, *words = argv
    try:
        function = getattr(import_module(f"bench.cli.{VERBS[verb]}"), f"{verb.replace('-', '_')}_verb")
        status: int | None = function(words)
    except UserError as error:
        print(f"bench: {one_line(error)}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        print(f"bench: {unwritable(error)}", file=sys.stderr)
        return 2
    return status or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
