"""`python -m report VERB ...`: what the scripts call. Run in the project's folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from report.errors import UserError

# verb -> module:function; imported when asked for, so that a quick verb stays quick
VERBS = {
    "generate": "report.cli:generate",
    "list": "report.cli:list_cells",
    "plan": "report.cli:make",
    "steps": "report.cli:steps",
    "services": "report.cli:services",
    "contract": "report.cli:contract",
    "sample": "report.cli:sample",
    "summary": "report.verified:run",
    "resume": "report.cli:resume",
    "find": "report.cli:find",
    "commands": "report.cli:commands",
    "build": "report.build:run",
    "export": "report.exports.export:run",
    "glance": "report.glance:run",
    "pr-comment": "report.pr_comment:run",
    "comparable": "report.comparable:run",
    "compare": "report.several:run",
    "self": "report.selfbench:run",
    "self-page": "report.selfbench:run_page",
    "self-builds": "report.selfbench:run_builds",
    "selftest": "report.selftest:run",
    "parse": "report.parse:run",
    "schedule": "report.schedule:run",
    "knee": "report.knee:run",
    "verify": "report.contract:run",
    "check": "report.contract:check",
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
