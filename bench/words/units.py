"""What figures are for: texts are written for requests, and say it for what an exchange of another kind counts."""

from __future__ import annotations

import re

from bench.analysis.tables.ranking import REQUEST

_FORMS = (
    (r"\b([Rr])equests(?=/s| per second)", "{}s"),
    (r"\bper (?:successful )?request\b", "per {}"),
    (r"\bper successful response\b", "per {}"),
    (r"\bsuccessful responses (?=per second)", "{}s "),
    (r"\bper (\S+) response\b", r"per {} of \1"),
    (r"\bper response\b", "per {}"),
    (r"\bevery response waits\b", "every {} waits"),
    (r"\breq\.(?=\n/s)", "{}s"),
    (r"/req\.", "/{}"),
)


def in_units(text: str, unit: str) -> str:
    """`messages/s` and `CPU per message` in the place of requests; the text itself if those are what it counts."""
    if unit == REQUEST:
        return text
    for form, words in _FORMS:
        text = re.sub(form, words.format(unit), text)
    return text
