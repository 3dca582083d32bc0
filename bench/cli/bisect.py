"""`bisect`: what a run of a good commit and another one means for scripts/bisect.sh."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench.analysis.tables.judge import judge_tables
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.records.file import read_records
from bench.render.pr_comment import Comparison, rows_of
from bench.run.folder import find_run
from bench.run.reader import read_run, read_service
from bench.validity.run_records import service_names
from bench.words.runs import commit_words, contrast_words, whole_difference


def bisect_verb(argv: Sequence[str]) -> int:
    """`bisect RUN`: print the bad commit's difference from the good one, and its words; UserError if it is not slower.

    `bisect RUN --whole DIFFERENCE`: print whether another commit is good, bad, skip or abort, a colon, and why.
    """
    options = _options(argv)
    row = _only_comparison(options.run)
    if options.whole is None:
        print(whole_difference(row.contrast, row.invalid), contrast_words(row.contrast))
    else:
        print(commit_words(row.contrast, row.invalid, options.whole, row.base.service in row.failed))
    return 0


def _only_comparison(run: str) -> Comparison:
    folder = find_run(run)
    source = read_run(str(folder))
    failed = {name: read_service(source.path, name).failure for name in service_names(source)}
    absent = {name: ": ".join(cause) for name, cause in failed.items() if cause}
    rows = rows_of(judge_tables(source.facts, read_records(folder), absent), source.facts, absent)
    if len(rows) != 1:
        found = "; ".join(f"{row.head.service} {' '.join(row.ranking.table)}" for row in rows)
        raise UserError(
            f"a bisection follows one comparison, and this selection has {len(rows)}:"
            f" narrow it with --stack, --scenario, --tool and --level{f' ({found})' if found else ''}"
        )
    return rows[0]


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser("bisect.sh")
    parser.add_argument("run")
    parser.add_argument("--whole", type=float)
    return parser.parse_args(argv)
