"""`bisect`: `git bisect` in a package's repository; the test is a run that compares each commit with the good one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from driver.arguments import Parser
from driver.docker import Done, answers, end, spawn
from driver.failure import EQUAL, RUN, USER, Failure, ignore_signals, plain, say
from driver.planning.matrix import two_refs
from driver.planning.tools import asked, bench, commit_of, done_by_git, git
from driver.run import ROOT

NOT_MEASURED = 3
"""Exit status: a commit could not be measured, and the commit is not to blame."""
NOT_HERE = ("--app", "--dry-run", "--list", "--mode", "--preset", "--resume", "--target", "--vary")
GIVEN = ("--controls", "none", "--max-time", "10")
"""Default options of each measurement; given options override them."""
ENDS_S = 60.0
"""Seconds that scripts/matrix.sh has to remove its containers after a signal."""

FOUND = re.compile(r"^[0-9a-f]{40,64} is the first '?bad'? commit$", re.MULTILINE)
"""How git ends a bisection; from version 2.55 on, it quotes the word."""


@dataclass
class Bisection:
    """`folder`: the package's; `good`, `bad`: commits; `whole`: the difference between them; `told`: the printed line
    of each measured commit. `tree`: a work tree without files, as git keeps the state of a bisection per work tree.
    """

    folder: Path
    good: str
    bad: str
    selection: Sequence[str]
    tree: Path
    whole: str = ""
    told: dict[str, str] = field(default_factory=dict)


def main(argv: list[str]) -> int:
    """`bisect GOOD BAD --package PATH OPTION...`: 0 found, 1 skipped commits leave several candidates."""
    refs, package, selection = read_request(argv)
    folder, good, bad = _choose_commits(refs, package)
    state = Path(tempfile.mkdtemp())
    bisection = Bisection(folder, good, bad, selection, state / "tree")
    try:
        done_by_git(folder, "worktree", "add", "--quiet", "--no-checkout", "--detach", str(bisection.tree), bad)
        _need_one_comparison(bisection)
        say(f"measuring {refs[0]} and {refs[1]}")
        # `bench bisect` fails if there is no difference, and so nothing to bisect.
        run = _run_of(_need(_measure(bisection, bisection.bad)))
        bisection.whole, _, words = bench(ROOT, "bisect", run).strip().partition(" ")
        _tell(bisection, bisection.bad, f"bad: {words}", run)
        return _bisect(bisection)
    finally:
        ignore_signals()
        if bisection.tree.exists():
            git(folder, "worktree", "remove", "--force", str(bisection.tree))
        shutil.rmtree(state, ignore_errors=True)


def read_request(argv: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """The two refs, the package's folder, and options of scripts/matrix.sh."""
    refs = two_refs(argv, "two commits are needed first: GOOD and BAD")
    parser = Parser("bisect")
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    options, selection = parser.parse_known_args(argv[2:])
    if len(options.package) > 1:
        raise Failure(USER, "give --package once, with one folder; see --help")
    if refused := [word for word in selection if word.partition("=")[0] in NOT_HERE]:
        raise Failure(USER, f"a bisection takes no {refused[0]}; see --help")
    if options.quiet:
        os.environ["BENCH_QUIET"] = "1"
    return refs, "".join(options.package), selection


def _choose_commits(refs: Sequence[str], package: str) -> tuple[Path, str, str]:
    """The package's folder, and the good and the bad commit."""
    if not package:
        raise Failure(USER, "--package PATH is needed: the package's folder in its repository; see --help")
    if not Path(package).is_dir():
        raise Failure(USER, f"--package: there is no folder '{package}'")
    folder = Path(package).resolve()
    if not asked(folder, "rev-parse", "--git-dir"):
        raise Failure(USER, f"--package: '{package}' is not in a git repository")
    good, bad = (commit_of(folder, ref) for ref in refs)
    if not (good and bad):
        raise Failure(USER, f"there is no commit '{refs[1 if good else 0]}' in {package}: fetch it first")
    if good == bad:
        raise Failure(USER, f"'{refs[0]}' and '{refs[1]}' are the same commit")
    if git(folder, "merge-base", "--is-ancestor", good, bad).status:
        order = "give the good commit first, and the bad one must descend from it"
        raise Failure(USER, f"'{refs[1]}' does not descend from '{refs[0]}': {order}")
    return folder, good, bad


def _measure(bisection: Bisection, commit: str, *options: str) -> Done:
    """Measures the commit and the good one in one run; `err` is the last line of what scripts/matrix.sh says."""
    packages = [word for one in (bisection.good, commit) for word in ("--package", f"{bisection.folder}@{one}")]
    argv = [str(ROOT / "scripts/matrix.sh"), "--quiet", *packages, *GIVEN, *bisection.selection, *options]
    child = spawn(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, errors = (text.decode(errors="replace") for text in child.communicate())
    finally:
        end(child, ENDS_S)
    last = (errors.splitlines() or [""])[-1]
    words = re.sub(r"^(bench|matrix\.sh): ", "", last)
    return Done(child.returncode, out, words or f"scripts/matrix.sh ended with status {child.returncode}")


def _need(measured: Done) -> Done:
    if measured.status:
        raise Failure(NOT_MEASURED if measured.status == RUN else measured.status, measured.err)
    return measured


def _run_of(measured: Done) -> str:
    """results/RUN, which scripts/matrix.sh prints last; empty if there is none."""
    last = measured.out.splitlines()[-1:] or [""]
    return last[0].removesuffix("/report.md") if last[0].endswith("/report.md") else ""


def _need_one_comparison(bisection: Bisection) -> None:
    """Failure, before anything is measured, unless the selection is a single comparison."""
    listed = _need(_measure(bisection, bisection.bad, "--list"))
    tables = [" ".join(table.split()) for table in re.findall(r"^table in turns: (.*)", listed.out, re.MULTILINE)]
    if len(tables) != 1 or not tables[0].endswith(" 2 services"):
        narrow = "narrow the selection with --stack, --scenario, --tool and --level"
        raise Failure(USER, f"a bisection follows one comparison, {narrow}: {'; '.join(tables)}")


def _tell(bisection: Bisection, commit: str, words: str, run: str) -> None:
    """Prints and keeps the line of a commit."""
    subject = asked(bisection.folder, "log", "-1", "--format=%h %s", commit)
    bisection.told[commit] = plain(f"{subject}: {words}" + (f"; {run}" if run else ""))
    print(bisection.told[commit], flush=True)


def _judge(bisection: Bisection, commit: str) -> str:
    """Measures a commit; returns good, bad, skip or abort.

    If scripts/matrix.sh ends with status USER, that is the commit's fault, because the same options worked for good and
    bad. The exception is an error that keeps any package from being built.
    """
    say(f"measuring {commit[:10]}")
    measured = _measure(bisection, commit)
    words, run = measured.err, _run_of(measured)
    if measured.status == 0:
        try:
            judged = bench(ROOT, "bisect", run, f"--whole={bisection.whole}").strip()
        except (Failure, SystemExit) as error:
            raise Failure(NOT_MEASURED, f"the bisection stopped: {error}") from error
    elif measured.status == EQUAL:
        judged = "good: the same files"
    elif measured.status != USER:
        judged = f"abort: {words}"
    else:
        judged = f"skip: {words.rpartition(f'@{commit}: ')[2]}"
    if measured.status == USER and not answers():
        judged = "abort: the Docker daemon does not answer"
    _tell(bisection, commit, judged, run)
    return judged.partition(":")[0]


def _bisect(bisection: Bisection) -> int:
    """Lets git choose commits until it has found the first bad one."""
    tree = bisection.tree
    done = git(tree, "bisect", "start", "--no-checkout", bisection.bad, bisection.good)
    while not done.status and not FOUND.search(done.out):
        commit = asked(tree, "rev-parse", "--verify", "BISECT_HEAD")
        verdict = "bad" if commit == bisection.bad else _judge(bisection, commit)
        if verdict not in ("good", "bad", "skip"):
            raise Failure(NOT_MEASURED, "the bisection stopped; its last line says why")
        done = git(tree, "bisect", verdict)
    if done.status:
        several = done.out.find("There are only")
        if several < 0:
            raise Failure(NOT_MEASURED, f"git bisect: {done.last_line}")
        sys.stdout.write(done.out[several:])
        return RUN
    first = asked(tree, "rev-parse", "refs/bisect/bad")
    found = FOUND.search(done.out)
    print(plain(done.out[found.start() if found else 0 :].rstrip("\n")))
    print(bisection.told[first])
    return 0
