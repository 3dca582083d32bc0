"""Verbs that compare runs, the two sides of a pull request, and the commits of a bisection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.runs.compatibility import ComparedRun, discrepancies_of, read_compared
from bench.analysis.tables.latency import read_at_common_rates
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.gone import gone
from bench.export.judged_run import find_judged
from bench.render.comparison import Sides, figures_of, runs_table
from bench.render.pr_comment import Comparison, comment_on, parse_policy, read_comparisons
from bench.render.text import escape
from bench.words.runs import commit_words, compatibility_lines, contrast_words, whole_difference


def comparable_verb(argv: Sequence[str]) -> int:
    """`comparable A B`: print how the conditions of two runs differ; 0 if their figures may be compared, else 1."""
    if len(argv) != 2:
        raise UserError("--check takes two runs, such as: scripts/compare-runs.sh --check RUN OTHER")
    discrepancies = discrepancies_of(*(read_compared(str(find_judged(name))) for name in argv))
    print(*compatibility_lines(discrepancies), sep="\n")
    return int(any(found.forbids for found in discrepancies))


def compare_verb(argv: Sequence[str]) -> int:
    """`compare A B [C...]`: print the runs side by side; 0 if all are comparable with the first, else 1."""
    if len(argv) < 2:
        raise UserError("a comparison takes two runs or more, such as: scripts/compare-runs.sh RUN OTHER")
    folders = [find_judged(name) for name in argv]
    names = _names(folders)
    first = read_compared(str(folders[0]))
    runs, lines = {names[0]: _figures(folders[0], first)}, list[str]()
    for name, folder in zip(names[1:], folders[1:], strict=True):
        run = read_compared(str(folder))
        discrepancies = discrepancies_of(first, run)
        lines += [f"- {escape(f'{name}: {line}')}" for line in compatibility_lines(discrepancies)]
        if not any(found.forbids for found in discrepancies):
            runs[name] = _figures(folder, run)
    if len(runs) > 1:
        print(runs_table(runs).markdown())
    print(*lines, sep="\n")
    return 0 if len(runs) == len(folders) else 1


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' names, or their whole paths if two have the same name; UserError if one is given twice."""
    places = Counter(folder.resolve() for folder in folders)
    if twice := [folder.name for folder in folders if places[folder.resolve()] > 1]:
        raise UserError(f"{twice[0]} is given twice: give different runs")
    count = Counter(folder.name for folder in folders)
    return [folder.name if count[folder.name] == 1 else str(folder) for folder in folders]


def _figures(folder: Path, run: ComparedRun) -> Sides:
    return figures_of(run, read_at_common_rates(str(folder), run.run, run.records))


def pr_comment_verb(argv: Sequence[str]) -> int:
    """`pr-comment RUN [--fail-on POLICY]...`: print the comment; 1 if a policy is violated.

    `pr-comment --check [--fail-on POLICY]...`: only check the policies; UserError if one is invalid.
    """
    parser = Parser("pr-comment.sh")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--fail-on", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_intermixed_args(argv)
    if len(options.runs) == 2:
        raise UserError(gone()["pr-comment.sh of two runs"])
    if len(options.runs) != (0 if options.check else 1):
        parser.error("give one run with a table in turns")
    policies = [parse_policy(text) for text in options.fail_on]
    if options.check:
        return 0
    made = comment_on(find_judged(options.runs[0]), policies)
    print(made.text, end="")
    return int(made.violations > 0)


def bisect_verb(argv: Sequence[str]) -> None:
    """`bisect RUN`: print how much slower the bad commit is than the good one, as a number and in words.

    UserError if it is not slower. `bisect RUN --whole DIFFERENCE`: print `good`, `bad`, `skip` or `abort` for another
    commit, then a colon and why; DIFFERENCE is the number printed before.
    """
    parser = Parser("bisect.sh")
    parser.add_argument("run")
    parser.add_argument("--whole", type=float)
    options = parser.parse_args(argv)
    row = _only_comparison(options.run)
    metric = row.ranking.metric
    if options.whole is None:
        print(whole_difference(metric, row.contrast, row.invalid), contrast_words(metric, row.contrast))
    else:
        print(commit_words(metric, row.contrast, row.invalid, options.whole, row.base.service in row.failed))


def _only_comparison(run: str) -> Comparison:
    _, _, comparisons = read_comparisons(find_judged(run))
    rows = [row for row in comparisons if row.latency is None]
    if len(rows) != 1:
        names = "; ".join(f"{row.head.service} {row.ranking.table}" for row in rows)
        how = f"narrow it with --stack, --scenario, --tool and --level{f' ({names})' if names else ''}"
        raise UserError(f"a bisection follows one comparison, and this selection has {len(rows)}: {how}")
    return rows[0]
