"""`python3 -m bench VERB ...`: what the scripts call. Run in the project's folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from bench.errors import UserError

# verb -> module:function; imported when asked for, so that a quick verb stays quick
VERBS = {
    "generate": "bench.cli:generate",
    "list": "bench.cli:list_cells",
    "plan": "bench.cli:make",
    "steps": "bench.cli:steps",
    "services": "bench.cli:services",
    "contract": "bench.cli:contract",
    "sample": "bench.cli:sample",
    "summary": "bench.contract.command:summary_verb",
    "resume": "bench.cli:resume",
    "find": "bench.cli:find",
    "commands": "bench.cli:commands",
    "build": "bench.build:run",
    "export": "bench.exports.export:run",
    "glance": "bench.glance:run",
    "pr-comment": "bench.pr_comment:run",
    "comparable": "bench.comparable:run",
    "compare": "bench.several:run",
    "self": "bench.selfbench:run",
    "self-page": "bench.selfbench:run_page",
    "self-builds": "bench.selfbench:run_builds",
    "selftest": "bench.selftest:run",
    "parse": "bench.parse:run",
    "schedule": "bench.schedule:run",
    "knee": "bench.knee:run",
    "verify": "bench.contract.command:verify_verb",
}


def main(argv: Sequence[str]) -> int:
    """Run one verb: 0 done, 1 something failed, 2 with one line for what the user can mend."""
    if not argv or argv[0] not in VERBS:
        print(f"bench: unknown verb; there are: {', '.join(VERBS)}", file=sys.stderr)
        return 2
    module, _, function = VERBS[argv[0]].partition(":")
    try:
        status: int = getattr(import_module(module), function)(list(argv[1:]))
    except UserError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
