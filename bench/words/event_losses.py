"""Losses in events in words: who loses more where the counts decide it; otherwise, that they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.analysis.events import NULL, EventCell, EventContrast, EventRow
from bench.core.formats import NOTHING, capital, joined, listed, plural
from bench.core.groups import grouped
from bench.events import NAMES
from bench.stats.estimates import ERRORS
from bench.stats.event_counts import LEAST_ROUNDS, p_differ, share
from bench.words.event_cells import gone_words
from bench.words.event_words import whole, words_of

Labels = Mapping[str, str]
MOST_LOSERS = 3
"""If more services lose requests, without a verdict, only the first and the last of them are named."""
MOST_SPREAD = 1.1
"""If the rounds of a cell differ by more than this ratio in requests sent, their sum is given."""


def loss_sentences(row: EventRow, rows: Sequence[EventRow], labels: Labels) -> list[str]:
    """What is lost under this event, the clearest difference first; `rows` has the case that shows the remedy."""
    sentences = [*_called(row, labels)] or [*_not_called(row, labels)]
    if sentences:
        sentences[0] += _floor(row) + relief_words(row, rows)
    return sentences


def differ_words(row: EventRow, labels: Labels) -> str:
    """Whether the services of a row differ; with several pairs that do, how many."""
    if row.differing or row.apart:
        return _differ(row, labels)
    if not row.contrasts:
        return NOTHING
    named = {name for one in row.contrasts for name in (one.a, one.b)}
    if not any(row.cells[name].lost for name in named):
        return "no losses"
    if (rounds := min(len(row.cells[name].counted) for name in named)) < LEAST_ROUNDS:
        return f"no verdict from {'one round' if rounds == 1 else 'two rounds'}"
    needed = [one.needed for one in row.contrasts if one.needed is not None]
    words = "no winner"
    return f"{words}: {plural(min(needed), 'round')} would probably decide" if needed else words


def _differ(row: EventRow, labels: Labels) -> str:
    if len(row.differing) > 1:
        return f"{len(row.differing)} of {len(row.contrasts)} pairs differ"
    if row.differing:
        worse, better = ordered(row.differing[0])
        return f"{labels[worse]} loses more than {labels[better]}"
    verb = "loses" if len(row.apart) == 1 else "each lose"
    return f"{listed([labels[one.b] for one in row.apart])} {verb} more than the others together"


def ordered(one: EventContrast) -> tuple[str, str]:
    """(who loses more, who loses less)."""
    return (one.b, one.a) if one.verdict == "loses more" else (one.a, one.b)


def counted_in(row: EventRow) -> dict[str, EventCell]:
    """The cells that have counts, except the null server's."""
    return {name: cell for name, cell in row.cells.items() if name != NULL and cell.counted}


def _called(row: EventRow, labels: Labels) -> Iterator[str]:
    """A sentence for each group of services that lose more than the same others: every such pair differs."""
    beaten = {
        worse: frozenset(better for _, better in pairs)
        for worse, pairs in grouped(map(ordered, row.differing), lambda pair: pair[0]).items()
    }
    groups = grouped(beaten, beaten.__getitem__)
    for better, own in sorted(groups.items(), key=lambda group: -len(group[0]) * len(group[1])):
        worse, others = _by_share(row, own)[::-1], _by_share(row, better)
        if len(worse) == 1:
            yield _loses_more(row, worse[0], others, labels)
        else:
            sides = (
                listed([f"{labels[name]} ({_sum_words(row, name, _what(row) * (name == worse[0]))})" for name in side])
                for side in (worse, others)
            )
            yield f"{capital(row.name)}: {' lose more than '.join(sides)}."


def _by_share(row: EventRow, names: Sequence[str] | frozenset[str]) -> list[str]:
    return sorted(names, key=lambda name: (share(row.cells[name].counts), name))


def _loses_more(row: EventRow, worse: str, better: Sequence[str], labels: Labels) -> str:
    """`A reload of gunicorn 26.1.0 with keep-alive loses 3 to 7 of 1,000 requests, 27.0.1 none of 24,000`."""
    cells = row.cells
    words = f"{capital(_subject(row, labels[worse]))} loses {_loses(row, worse)}"
    if len(better) == 1:
        verb = "; {} loses" if cells[better[0]].lost else ", {}"
        return f"{words}{verb.format(_shorter(labels[better[0]], labels[worse]))} {loses_words(cells[better[0]])}."
    names = listed([labels[name] for name in better])
    return f"{words}; {names} lose {'less' if any(cells[name].lost for name in better) else 'none'}."


def _not_called(row: EventRow, labels: Labels) -> Iterator[str]:
    """What was lost if no two services are shown to differ."""
    cells = counted_in(row)
    if not any(cell.lost for cell in cells.values()):
        return
    worst = _by_share(row, [*cells])[::-1]
    first = worst[0]
    if len(cells) == 1:
        yield f"{capital(_subject(row, labels[first]))} loses {_loses(row, first)}."
        return
    losers = [name for name in worst if cells[name].lost]
    if len(losers) > MOST_LOSERS:
        ends = (f"{labels[name]} ({_sum_words(row, name)})" for name in (first, losers[-1]))
        parts = [f"{len(losers)} services lose{_what(row)}, from {' down to '.join(ends)}"]
    else:
        parts = [f"{labels[first]} loses {_loses(row, first)}"]
        parts += [f"{labels[name]} {loses_words(cells[name])}" for name in losers[1:]]
    parts += _spared(row, worst[len(losers) :], labels)
    verdict = differ_words(row, labels)
    why = "" if verdict == NOTHING else f"; {verdict}"
    yield f"{capital(row.name)}: {', '.join(filter(None, (parts[0], joined(parts[1:]))))}{why}."


def _spared(row: EventRow, names: Sequence[str], labels: Labels) -> list[str]:
    """`c none of 3,000`; of more than two, `5 others none of 15,000`."""
    if len(names) > 2:
        return [f"{len(names)} others none of {sum(row.cells[name].sent for name in names):,}"]
    return [f"{labels[name]} {loses_words(row.cells[name])}" for name in names]


def _loses(row: EventRow, name: str) -> str:
    return loses_words(row.cells[name], _what(row))


def _what(row: EventRow) -> str:
    return f" {words_of(row.event).lost}"


def _sum_words(row: EventRow, name: str, what: str = "") -> str:
    """`7 of 10,053`, over all rounds."""
    cell = row.cells[name]
    return gone_words(cell) or f"{f'{cell.lost:,}' if cell.lost else 'none'} of {cell.sent:,}{what}"


def loses_words(cell: EventCell, what: str = "") -> str:
    """`3 to 7 of 1,000 each time`; `none of 24,000`, in total; `7 of 10,053 (0 to 2 each time)`."""
    lost, sent = [one for one, _ in cell.counts], [one for _, one in cell.counts]
    each = " each time" if len(lost) > 1 else ""
    if gone := gone_words(cell):
        return gone
    if not any(lost):
        return f"none of {sum(sent):,.0f}{what}"
    if max(sent) > MOST_SPREAD * min(sent):
        return f"{sum(lost):,.0f} of {sum(sent):,.0f}{what} ({whole(lost)} each time)"
    if min(sent) == max(sent):
        return f"{whole(lost)} of {whole(sent)}{what}{each}"
    mean = sum(sent) / len(sent)
    return f"{whole(lost)} of about {round(mean, 3 - len(str(int(mean)))):,.0f}{what}{each}"


def _floor(row: EventRow) -> str:
    """What the null server loses: the client or the machine is the reason."""
    cell = row.cells.get(NULL)
    return f" The null server (nginx) loses {loses_words(cell)}." if cell and cell.counted and cell.lost else ""


def relief_of(row: EventRow, rows: Sequence[EventRow]) -> EventRow | None:
    """The row of the case that shows the remedy; None without one."""
    case, _ = words_of(row.event).reliefs.get(row.case, (None, ""))
    return next((one for one in rows if (one.event, one.case) == (row.event, case)), None)


def relief_words(row: EventRow, rows: Sequence[EventRow]) -> str:
    """What is lost with the remedy, if the rounds of all services together show that it helps."""
    other = relief_of(row, rows)
    if other is None:
        return ""
    _, words = words_of(row.event).reliefs[row.case]
    tests = sum(len(words_of(name).reliefs) for name in NAMES)
    both = [name for name in counted_in(row) if name in counted_in(other)]
    with_it, without = (tuple(pair for name in both for pair in one.cells[name].counts) for one in (other, row))
    if not both or share(with_it) >= share(without) or p_differ(without, with_it, alike=True) > ERRORS / tests:
        return ""
    lost = sum(one for one, _ in with_it)
    sent = sum(one for _, one in with_it)
    return f" {capital(words)}: {f'{lost:,.0f}' if lost else 'none'} of {sent:,.0f}."


def _shorter(name: str, beside: str) -> str:
    """`27.0.1` beside `gunicorn 26.1.0`."""
    first, _, rest = name.partition(" ")
    return rest if rest and beside.startswith(f"{first} ") else name


def _subject(row: EventRow, name: str) -> str:
    wording = words_of(row.event)
    template = wording.subject or f"{row.event} of {{}}"
    if "{case}" in template:
        return template.format(name, case=wording.case(row.case))
    words = wording.cases.get(row.case, f"({row.case})" if row.case else "")
    return f"{template.format(name)} {words}".rstrip()
