"""How many clients gave up, and that none of them got a response."""

from __future__ import annotations

from bench.records.event_dependencies import sums_of_needing
from bench.records.event_window import EventFigures, Window


def _evidence(window: Window) -> tuple[bool | None, str]:
    return bool(window.needing) and not any(row.good for row in window.needing), "the clients, which got no response"


FIGURES = EventFigures(figures=sums_of_needing, evidence=_evidence)
