"""`pr-comment`: a run's verdicts as a pull-request comment."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench.core.arguments import Parser
from bench.render.comment_parts import parse_policy
from bench.render.pr_comment import of_one
from bench.render.pr_two_runs import of_two
from bench.run.folder import find_run


def pr_comment_verb(argv: Sequence[str]) -> int:
    """`pr-comment RUN [RUN] [--fail-on POLICY]...`: print the comment; 1 if a policy is violated.

    `pr-comment --check [--fail-on POLICY]...`: UserError if that is none.
    """
    options = _options(argv)
    policies = [parse_policy(text) for text in options.fail_on]
    if options.check:
        return 0
    folders = [find_run(name) for name in options.runs]
    made = of_two(folders, policies) if len(folders) == 2 else of_one(folders[0], policies)
    print(made.text, end="")
    return int(made.violations > 0)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser("pr-comment.sh")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--fail-on", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_intermixed_args(argv)
    if len(options.runs) not in ((0,) if options.check else (1, 2)):
        parser.error("give one run with a table in turns, or two runs")
    return options
