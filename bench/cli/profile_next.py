"""`profile-next` for driver/steps/profile.py: the windows in which the services of a run's tables are sampled."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.errors import UserError
from bench.drive.next_step import FINISHED, STEP
from bench.drive.profile_steps import begin, next_window
from bench.run.folder import find_run


def profile_next_verb(argv: Sequence[str]) -> int:
    """`profile-next RUN [--begin]`: record the window that has ended, and write the next one to RUN/step.json.

    The exit status is 0 with a window, whose words are printed, and 3 if none is left.
    """
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
