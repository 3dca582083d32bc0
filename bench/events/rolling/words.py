"""How long each container swap took, and whether error statuses came from the proxy or the server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bench.analysis.events import EventCell
from bench.core.formats import plural
from bench.words.event_words import EventWords, seconds_of, texts_of

TEXTS = texts_of(__file__)
CAUSES: Mapping[str, str] = TEXTS.pop("causes")
BAD_STATUS = re.compile(r"(proxy|server)_5\d\d")


def _details(cell: EventCell) -> Iterator[str]:
    both = [one for number in (1, 2) for one in cell.figures(f"swap_{number}_s")]
    if both:
        yield f"each container back after {seconds_of(both)}"
    if killed := sum(sum(cell.figures(f"killed_{number}")) for number in (1, 2)):
        yield f"{killed:.0f} of {len(both)} had to be killed"
    names = sorted({name for one in cell.counted for name in one.extras if BAD_STATUS.fullmatch(name)})
    for name in names:
        whose, _, status = name.partition("_")
        because = f" ({words})" if (words := _causes(cell, name)) else ""
        requests = plural(round(sum(cell.figures(name))), "request", ",")
        yield f"{requests} got {status} from the {whose} itself{because}"
    if names and (words := _causes(cell, "cause")) and words != _causes(cell, *names):
        yield f"failed attempts: {words}"


def _causes(cell: EventCell, *names: str) -> str:
    """`3 no container left, 1 reset`: the figures of these names by cause."""
    counts = {words: sum(sum(cell.figures(f"{name}_{cause}")) for name in names) for cause, words in CAUSES.items()}
    return ", ".join(f"{count:,.0f} {words}" for words, count in counts.items() if count)


WORDS = EventWords(**TEXTS, details=_details)
