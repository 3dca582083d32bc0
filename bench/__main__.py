"""`python3 -m bench VERB ...`: what the scripts call. Run in the project's folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from bench.core.errors import UserError, one_line
from bench.core.files import UNWRITABLE

VERBS = {
    "generate": "cli.generate:generate_verb",
    "list": "cli.plan:list_verb",
    "plan": "cli.plan:make_plan_verb",
    "contract": "cli.plan:contract_verb",
    "commands": "cli.plan:commands_verb",
    "own-app": "cli.own_app:own_app_verb",
    "own-trace": "cli.own_app:own_trace_verb",
    "own-answers": "cli.own_app:own_answers_verb",
    "package-pythons": "cli.packages:package_pythons_verb",
    "packages": "cli.packages:packages_verb",
    "target-answers": "cli.running:target_answers_verb",
    "target-check": "cli.running:target_check_verb",
    "find": "cli.resume:find_verb",
    "resume": "cli.resume:resume_verb",
    "again": "cli.again:again_verb",
    "next": "cli.next:next_verb",
    "service-failed": "cli.services:service_failed_verb",
    "retry": "cli.services:retry_verb",
    "nothing-measured": "cli.services:nothing_measured_verb",
    "turns": "cli.turns:turns_verb",
    "counters": "cli.several:counters_verb",
    "counters-reached": "cli.several:counters_reached_verb",
    "lanes-speed-up": "cli.lanes:lanes_speed_up_verb",
    "verify": "cli.verify:verify_verb",
    "summary": "cli.verify:summary_verb",
    "sockets": "cli.listeners:sockets_verb",
    "own-binds": "cli.listeners:own_binds_verb",
    "own-binds-read": "cli.listeners:own_binds_read_verb",
    "build": "cli.report:build_verb",
    "parse": "cli.parse:parse_verb",
    "export": "cli.export:export_verb",
    "comparable": "cli.compare_runs:compatibility_verb",
    "compare": "cli.compare_runs:compare_verb",
    "pr-comment": "cli.pr_comment:pr_comment_verb",
    "bisect": "cli.bisect:bisect_verb",
    "profile": "cli.profile:profile_verb",
    "profile-next": "cli.profile_next:profile_next_verb",
    "profile-compose": "cli.profile:profile_compose_verb",
    "lock": "cli.lock:lock_verb",
    "audit": "cli.audit:audit_verb",
    "scaffold": "cli.scaffold:scaffold_verb",
    "sample": "cli.sample:sample_verb",
}
"""verb -> module:function; a module is imported when its verb is asked for, so that a quick verb stays quick."""


def main(argv: Sequence[str]) -> int:
    """Run one verb: 0 done, 1 something failed, 2 with one line for what the user can fix, 130 for Ctrl-C."""
    if not argv or argv[0] not in VERBS:
        print(f"bench: unknown verb; there are: {', '.join(VERBS)}", file=sys.stderr)
        return 2
    module, _, function = VERBS[argv[0]].partition(":")
    try:
        status: int = getattr(import_module(f"bench.{module}"), function)(list(argv[1:]))
    except UserError as error:
        print(f"bench: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        where = f"cannot write {error.filename or 'a file'}: {error.strerror}"
        print(f"bench: {one_line(where)}; free some space, or make it writable", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
