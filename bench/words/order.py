"""The order of a table's services in words, from the verdicts on all pairs; also releases and varied settings.

Services are equal if that is shown; else there is no winner, and the sentence adds the most that they may differ.
Sentences have no full stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations, pairwise, takewhile

from bench.analysis.tables.ladder import Ladder
from bench.analysis.tables.ranking import Ceiling, Compared, Contrast, Metric, Ranking
from bench.core.formats import listed, plural, size
from bench.stats.table_verdicts import EQUAL, NO_WINNER
from bench.words.changes import CPU, LITTLE, Change, change_of, change_words
from bench.words.texts import SENTENCES

PLURAL = " workers"


def order_words(ranking: Ranking, services: Sequence[str], names: Mapping[str, str]) -> str:
    """The sentence on these services, from the best to the worst."""
    if not services:
        return "no service has a figure that can be ranked"
    best, worst = services[0], services[-1]
    if len(services) == 1:
        return f"only {names[best]} has a figure that can be ranked"
    gap = ranking.ahead(best, worst)
    if ranking.look is None or gap is None or not any(one.interval for one in ranking.contrasts):
        rounds, first = ranking.rounds, ranking.looks[0]
        wanted = f"; the first verdicts come after {first}" if rounds < first else ""
        return f"not enough data for a ranking: {plural(rounds, 'round')}{wanted}"
    if len(services) == 2:
        return pair_words(ranking, best, worst, names)
    front = ranking.front(services)
    words = _lead(ranking, front, services, names)
    return words if worst in front else f"{words}{_end(ranking, front, services, names)}"


def pair_words(ranking: Ranking, service: str, other: str, names: Mapping[str, str]) -> str:
    """The sentence on two services."""
    gap = ranking.ahead(service, other)
    if gap is None:
        return f"{names[service]} and {names[other]} cannot be compared"
    if not gap.called:
        return open_words(ranking, [service, other], names)
    if gap.difference < 0:
        return pair_words(ranking, other, service, names)
    return _gap_words(ranking, gap, names[service], names[other])


def worker_words(ranking: Ranking, service: str, other: str, models: Mapping[str, str]) -> str:
    """The sentence on two worker models of gunicorn."""
    gap = ranking.ahead(service, other)
    if gap is None or not gap.called:
        names = {service: f"gunicorn's {models[service]}", other: f"{models[other]} workers"}
        return open_words(ranking, [service, other], names)
    better, worse = (service, other) if gap.difference > 0 else (other, service)
    begins = worse if ranking.metric is Metric.CPU else better
    whose = {begins: "gunicorn's"}
    names = {name: f"{whose.get(name, 'its')} {models[name]}{PLURAL}" for name in (service, other)}
    return pair_words(ranking, better, worse, names)


def _lead(ranking: Ranking, front: Sequence[str], services: Sequence[str], names: Mapping[str, str]) -> str:
    """Which service is fastest, or which ones may be."""
    best = front[0]
    if len(front) == 1:
        gap = ranking.ahead(best, services[1])
        assert gap is not None
        more = _more(ranking, gap)
        if ranking.metric is Metric.CPU:
            behind = f"{names[services[1]]}, the next, needs {more.much()} ({more.interval()})"
            return f"{names[best]} needs the least {CPU}: {behind}"
        return f"{names[best]} is fastest: {more.much_of_it()} {names[services[1]]}, the next ({more.interval()})"
    return open_words(ranking, front, names, whole_table=len(front) == len(services) > 4)


def open_words(
    ranking: Ranking, services: Sequence[str], names: Mapping[str, str], *, whole_table: bool = False
) -> str:
    """`a and b are equal (...)` if that is shown of every pair, else `no winner among a, b and c (...)`.

    `whole_table`: these are all its services, which are counted instead of named.
    """
    pairs = [*combinations(services, 2)]
    gaps = [ranking.ahead(a, b) for a, b in pairs]
    who = f"these {len(services)} services" if whole_table else listed([names[name] for name in services])
    if all(gap and gap.verdict == EQUAL for gap in gaps):
        most = ranking.farthest(pairs)
        return f"{who} are equal{'' if most is None else f' (at most {size(most)} apart)'}"
    return f"no winner {'between' if len(services) == 2 else 'among'} {who}{allowed_words(ranking, pairs)}"


def ceiling_words(ceiling: Ceiling) -> str:
    """What keeps the first services together, and how many connections would separate them."""
    enough, shares = separating_connections(ceiling), {"share": 100 * ceiling.share, "busy": 100 * ceiling.busy}
    return SENTENCES["ceiling"].format(at=ceiling, enough=enough, **shares)


def separating_connections(ceiling: Ceiling) -> int:
    """About how many connections would separate them."""
    return int(float(f"{ceiling.enough:.1e}"))


def _end(ranking: Ranking, front: Sequence[str], services: Sequence[str], names: Mapping[str, str]) -> str:
    """Which service is last, and how far behind the best."""
    best, worst = services[0], services[-1]
    gap = ranking.ahead(best, worst)
    if gap is None or not gap.called:
        return ""
    behind = services[len(front) :]
    last = [*takewhile(lambda name: name == worst or not ranking.apart(name, worst), reversed(behind))][::-1]
    ends = f"{listed([names[name] for name in last])} {'is' if len(last) == 1 else 'are'} last"
    it = "it" if len(last) == 1 else names[worst]
    if ranking.metric is Metric.CPU and len(front) == 1:
        more = _more(ranking, gap)
        return f"; {ends}: {it} needs {more.much()} ({more.interval()})"
    return f"; {ends}: {_gap_words(ranking, gap, names[best], it)}"


def _gap_words(ranking: Ranking, gap: Contrast, better: str, worse: str, who: str = "") -> str:
    """How far the better of two is ahead; the subject is the one with the larger figure, requests or CPU time.

    `who`: the service, if `better` and `worse` are only its settings.
    """
    begins = " ".join(filter(None, (worse if ranking.metric is Metric.CPU else better, who)))
    more = _more(ranking, gap)
    if ranking.metric is not Metric.CPU:
        return f"{begins} served {more.much_of_it()} {worse} ({more.interval()})"
    verb = "need" if begins.endswith(PLURAL) and " with " not in begins else "needs"
    return f"{begins} {verb} {more.much_of_it()} {better} ({more.interval()})"


def _more(ranking: Ranking, gap: Contrast) -> Change:
    """How much more: CPU time of the worse one, or requests of the better one, which is `b` of the gap."""
    return change_of(ranking.metric, gap.turned if ranking.metric is Metric.CPU else gap)


def allowed_words(compared: Compared, pairs: Sequence[tuple[str, str]]) -> str:
    """` (the data allow a difference of up to 2.1 %)`: the largest within the intervals of these pairs."""
    most = compared.farthest(pairs)
    return "" if most is None else f" (the data allow a difference of up to {size(most)})"


def ladder_sentence(ranking: Ranking, ladder: Ladder) -> str:
    """Which steps from one release to the next are real, then the change from the first to the last."""
    real, alike, open_ = [], [], 0
    for old, new in pairwise(ladder.versions):
        gap = ranking.ahead(new, old)
        if gap and gap.called:
            real.append(_step(ranking, ladder, old, new))
        elif gap and gap.verdict == EQUAL:
            alike.append((old, new))
        else:
            open_ += 1
    parts = real or ["no step from one release to the next is shown to be real"]
    if alike:
        most = ranking.farthest(alike)
        within = "" if most is None else f" (at most {size(most)})"
        if real and not open_:
            parts.append(f"no other step shows a difference{within}")
        else:
            parts.append(f"{plural(len(alike), 'step')} show{'s' * (len(alike) == 1)} no difference{within}")
    if open_:
        parts.append(f"{plural(open_, 'step')} {'is' if open_ == 1 else 'are'} undecided ({NO_WINNER})")
    first, *_, last = ladder.versions
    oldest, newest = ladder.versions[first], ladder.versions[last]
    whole = _step(ranking, ladder, first, last) or f"no difference between {newest} and {oldest} is shown"
    return f"{ladder.package} from {oldest} to {newest}: {'; '.join([*parts, f'in all, {whole}'])}"


def _step(ranking: Ranking, ladder: Ladder, old: str, new: str) -> str:
    """`23.0.0 is slower than 22.0.0: it needs 3 % more CPU per request (2 to 4 %)`; empty if it is not real."""
    gap = ranking.ahead(new, old)
    if gap is None or not gap.called:
        return ""
    changed = change_words(ranking.metric, gap)
    return f"{ladder.versions[new]} is {gap.verdict} than {ladder.versions[old]}: it {changed}"


def by_value(services: Sequence[str], knob: str, settings: Mapping[str, Mapping[str, str]]) -> list[str] | None:
    """The services by rising value of a knob; None if a value is not a number."""
    try:
        values = {name: Decimal(settings[name][knob]) for name in services}
    except InvalidOperation:
        return None
    return sorted(services, key=lambda name: values[name])


def sweep_sentence(ranking: Ranking, words: Mapping[str, str], who: str) -> str:
    """The sentence on rising values of a knob: from which value on higher ones are not shown to help.

    `words`: each value by service (`with 4 workers`); `who`: what all of them run. A value is enough if no larger one
    is shown to be faster; the sentence names the smallest such value.
    """
    services, lead = [*words], ranking.lead
    if len(services) == 2 and not ranking.apart(*services):
        first, second = services
        return pair_words(ranking, first, second, {first: f"{who} {words[first]}", second: words[second]})
    if len(services) == 2:
        better, worse = services if lead(*services) else services[::-1]
        gap = ranking.ahead(better, worse)
        assert gap is not None
        return _gap_words(ranking, gap, words[better], words[worse], who)
    enough = next(n for n, name in enumerate(services) if not any(lead(more, name) for more in services[n + 1 :]))
    best, above, below = services[enough], services[enough + 1 :], services[:enough]
    parts = []
    for name in below:
        if gap := lead(best, name):
            parts.append(_gap_words(ranking, gap, words[best], words[name], who))
            break
    if not above:
        return parts[0] + "; higher values were not tested" if parts else ""
    more = [name for name in above if not lead(best, name)]
    if more:
        most = [found.interval[1] for name in more if (found := ranking.ahead(name, best)) and found.interval]
        gain = max(0.0, *most) if len(most) == len(more) else None
        where, subject = listed([words[name] for name in more]), "it" if parts else who
        if gain is not None and gain > LITTLE:
            parts.append(f"whether {subject} is faster {where} is open (up to {size(gain)} faster)")
        else:
            at_most = "" if gain is None else f" (at most {size(gain)} faster)"
            parts.append(f"{where} {subject} is not measurably faster{at_most}")
    for name in above:
        if gap := lead(best, name):
            parts.append(_gap_words(ranking, gap, words[best], words[name], "it" if parts else who))
    return "; ".join(parts)
