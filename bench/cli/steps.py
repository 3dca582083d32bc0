"""Verbs for the measuring loop on the host: the next step, and services that fail.

`next` is called between any two windows, so other verbs import what only they need themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.core.arguments import Parser, words_of
from bench.core.errors import UserError
from bench.run.folder import find_run
from bench.run.reader import read_run
from bench.schedule.failures import CAUSES, none_measured, record_failure, try_again
from bench.schedule.next_step import FINISHED, STEP, next_step
from bench.schedule.progress import Screen


def next_verb(argv: Sequence[str]) -> int:
    """`next RUN --elapsed SECONDS`: record the last step, print the progress, write the next step to RUN/step.json.

    SECONDS: the time since the caller's script started; `-` reads it from standard input after the step.
    `--begin`: the first call of a loop; with `--lanes N`, up to N steps run side by side, and lanes 2 to N have their
    step in RUN/lanes/N/step.json. Exit status: 0 there is a next step; 3 nothing is left; 4 the time is up, and the
    last printed line says how to resume.
    """
    parser = Parser("next")
    parser.add_argument("run")
    parser.add_argument("--elapsed", required=True)
    parser.add_argument("--max-time", type=float)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--columns", type=int, default=0)
    for name in ("begin", "quiet", "colour"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args(argv)
    folder = find_run(options.run)
    screen = Screen(_seconds(options.elapsed), options.quiet, options.columns, options.colour)
    try:
        status = next_step(folder, screen, begin=options.begin, max_time_s=options.max_time, lanes=options.lanes)
    except OSError as error:
        raise UserError(f"cannot write to {error.filename or folder}: {error.strerror}") from error
    print(*screen.lines, sep="\n", end="\n" if screen.lines else "")
    return status


def _seconds(word: str) -> float:
    """The seconds given, or read from standard input; UserError if that is closed or has no number."""
    text = sys.stdin.readline().strip() if word == "-" else word
    try:
        return float(text)
    except ValueError as error:
        raise UserError(f"'{text}' is not a number of seconds") from error


def profile_next_verb(argv: Sequence[str]) -> int:
    """`profile-next RUN [--begin]`: record the window that has ended, and write the next one to RUN/step.json.

    Exit status: 0 there is a next window, whose label is printed; 3 none is left.
    """
    from bench.schedule.profile_steps import begin, next_window

    names = [word for word in argv if word != "--begin"]
    if len(names) != 1:
        raise UserError("usage: python3 -m bench profile-next RUN [--begin]")
    run = find_run(names[0])
    try:
        lines = begin(run) if len(names) < len(argv) else []
        label = next_window(run)
    except OSError as error:
        raise UserError(f"cannot write to {run}: {error.strerror}") from error
    print(*lines, *([f"sampling {label}"] if label else []), sep="\n", end="\n" if lines or label else "")
    return STEP if label else FINISHED


def service_failed_verb(argv: Sequence[str]) -> None:
    """`service-failed RUN NAME CAUSE [DETAIL]`: record why a service is not loaded; print it in one line.

    CAUSE is one of base (DETAIL: the image), build (DETAIL: its log), start, answer (DETAIL: seconds), verification,
    equal (DETAIL: to which).
    """
    parser = Parser("service-failed")
    parser.add_argument("run")
    parser.add_argument("name")
    parser.add_argument("cause", choices=CAUSES)
    parser.add_argument("detail", nargs="?", default="")
    options = parser.parse_args(argv)
    folder = find_run(options.run) / "raw/services" / options.name
    if not options.name or "/" in options.name or options.name.startswith("."):
        raise UserError(f"'{options.name}' is not the name of a service")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{options.name}: {record_failure(folder, options.cause, options.detail)}")


def equal_sides_verb(argv: Sequence[str]) -> None:
    """`equal-sides RUN`: record which services are not loaded because others run the same; print a line for each."""
    from bench.run.process import equal_sides

    run = find_run(*words_of(argv, "equal-sides RUN"))
    for name, words in equal_sides(read_run(str(run))):
        print(f"{name}: {record_failure(run / 'raw/services' / name, 'equal', words)}")


def retry_verb(argv: Sequence[str]) -> None:
    """`retry RUN`: let services whose failure is not final be verified again; print which, in one line, if any."""
    print(try_again(find_run(*words_of(argv, "retry RUN"))))


def nothing_measured_verb(argv: Sequence[str]) -> None:
    """`nothing-measured RUN`: print one line if no service of the run was measured; nothing else."""
    print(none_measured(find_run(*words_of(argv, "nothing-measured RUN"))))
