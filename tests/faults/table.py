"""The figures of a fault run: moments that were tried and survived, by what was killed and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.faults.draw import PHASES, SUBJECTS


def table(judged: Iterable[Mapping[str, Any]]) -> str:
    """A Markdown table, `survived/tried` in each cell, and a line that counts all; without what was not there."""
    tried, survived = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    missed = 0
    for one in judged:
        if not one["tried"]:
            missed += 1
            continue
        for key in ((one["subject"], one["phase"]), (one["subject"], "all"), ("all", one["phase"]), ("all", "all")):
            tried[key] += 1
            survived[key] += not one["faults"]
    phases = (*(phase for phase in PHASES if tried["all", phase]), "all")
    subjects = (*(name for name in SUBJECTS if tried[name, "all"]), "all")
    lines = [f"| killed | {' | '.join(phases)} |", f"| --- |{' ---: |' * len(phases)}"]
    for name in subjects:
        cells = (f"{survived[name, phase]}/{tried[name, phase]}" if tried[name, phase] else "–" for phase in phases)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    words = f"{tried['all', 'all']} moments tried, {survived['all', 'all']} survived"
    return "\n".join([*lines, "", words + (f"; {missed} came after what they were to hit had ended" if missed else "")])
