"""A table in turns in words: a sentence on its ranking, and one on each question that its services raise.

Only verdicts are stated as differences; without one there is no winner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.services import Coordinates, Places, differing, ref_of, varied_knobs
from bench.analysis.tables.grid import grid_of
from bench.analysis.tables.ladder import ladder_of
from bench.analysis.tables.ranking import RankedRow, Ranking
from bench.core.formats import capital, listed, plural
from bench.matrix.knobs import REF
from bench.matrix.model import BARE
from bench.plan.measurement import Pair
from bench.run.facts import RefFacts, RefsFacts
from bench.words.changes import change_of
from bench.words.grid import grid_sentences
from bench.words.names import (
    Question,
    coordinate_words,
    framework_words,
    label_of,
    question,
    setting_words,
    wait_words,
)
from bench.words.order import by_value, ladder_sentence, order_words, sweep_sentence, worker_words
from bench.words.remarks import note_of

MOST = 6
"""The most questions that get a sentence."""
KINDS = ("settings", "workers", "framework", "server", "package", "python", "base")
"""What the services of a question differ in, in the order of their sentences; `workers`: gunicorn's worker models."""
FIRST = {"workers": 2, "settings": MOST}
"""How many sentences of a kind take precedence over the rest; one for kinds not listed."""
MODELS = ("gevent", "gthread")
"""The worker models that most people ask about come first."""
WORKERS = "gunicorn"
WORKER_REFERENCE = "gunicorn-sync"
"""The worker model that the others are compared with."""


def sentences(ranking: Ranking, places: Places, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The sentence on the whole table, then one for each question that two or more of its services raise.

    `labels`: short names of the services.
    """
    ranked = [row.service for row in ranking.rows if row.rank is not None]
    absent = [row for row in ranking.rows if row.rank is None]
    left_out = ""
    if absent:
        why = [f"{labels[row.service]} ({note_of(row).partition(': ')[0]})" for row in absent]
        left_out = f" Not ranked: {listed(why)}."
    if ranking.look is None or len(ranked) < 2:
        return (_capital(order_words(ranking, ranked, _names(ranking, places, labels))) + "." + left_out,)
    answers = _answers(ranking, ranked, places)
    if len(ranked) == 2 and answers:
        # The answer to the only question of two services is the sentence on the table.
        return (f"{answers[0].sentence}{left_out}",)
    first = _capital(order_words(ranking, ranked, _names(ranking, places, labels))) + "."
    kept = _most_important(answers)
    left = len(answers) - len(kept)
    more = (f"{plural(left, 'more comparison')} in verdicts.jsonl.",) if left > 0 else ()
    return (first + left_out, *(one.sentence for one in kept), *more)


@dataclass(frozen=True, slots=True)
class _Answer:
    """One sentence; within a kind, sentences are sorted by `rank`."""

    kind: str
    rank: tuple[int, ...]
    sentence: str


def _answers(ranking: Ranking, ranked: Sequence[str], places: Places) -> list[_Answer]:
    """The answer to every question that two or more services raise, important kinds first."""
    groups: dict[Question, list[str]] = {}
    for a, b in combinations(ranked, 2):
        topic = question(a, b, places)
        if topic.by in ("server", "framework", "python", "base", "package", "settings"):
            groups.setdefault(topic, []).extend((a, b))
    differs, grid = differing(ranked, places), grid_of(ranked, places)
    answers = [_Answer("settings", (-len(ranked),), words) for words in (grid_sentences(ranking, grid) if grid else ())]
    in_grid = set(grid.services) if grid else set()
    for number, (topic, members) in enumerate(groups.items()):
        services = [name for name in ranked if name in members]
        if topic.by == "settings" and in_grid.issuperset(services):
            continue
        context = _context(places[services[0]], topic.by, differs)
        swept = _sweep(ranking, services, places, differs) if topic.by == "settings" else ""
        ladder = ladder_of(services, places) if topic.by == "package" else None
        if ladder:
            answers.append(
                _Answer("package", (-len(services), number), _sentence(context, ladder_sentence(ranking, ladder)))
            )
        elif swept:
            answers.append(_Answer("settings", (-len(services), number), _sentence("", swept)))
        elif topic.by == "server" and only_gunicorn([places[name] for name in services]):
            answers += _workers(ranking, services, places, context, number)
        elif len(services) < len(ranked):
            names = {name: _prose(places[name], topic.by) for name in services}
            # Questions that involve a bare app come first.
            bare = any(places[name].framework in BARE for name in services)
            rank = (not bare, -len(services), number)
            answers.append(_Answer(topic.by, rank, _sentence(context, order_words(ranking, services, names))))
    return sorted(answers, key=lambda one: (KINDS.index(one.kind), one.rank))


def _sweep(ranking: Ranking, services: Sequence[str], places: Places, differs: set[str]) -> str:
    """The sentence on services that differ in a single numeric knob; empty for others."""
    settings = {name: places[name].settings for name in services}
    first, varied = settings[services[0]], varied_knobs([*settings.values()])
    if len(varied) != 1 or any(own.keys() != first.keys() for own in settings.values()):
        return ""
    if (ordered := by_value(services, varied[0], settings)) is None:
        return ""
    place = places[services[0]]
    who = place.server if differs <= {"settings", "server"} else label_of(place, differs - {"settings"})
    same = {knob: value for knob, value in first.items() if knob not in varied}
    who += f" ({setting_words(same)})" if same else ""
    words = {name: f"with {setting_words({varied[0]: settings[name][varied[0]]})}" for name in ordered}
    return sweep_sentence(ranking, words, who)


def only_gunicorn(places: Iterable[Coordinates]) -> bool:
    """Whether all run on gunicorn, so that their servers differ only in the worker model."""
    return {place.server.partition("-")[0] for place in places} == {WORKERS}


def _workers(ranking: Ranking, services: Sequence[str], places: Places, context: str, number: int) -> Iterator[_Answer]:
    """The worker models of one app, each compared with sync, or with the first if there is no sync."""
    reference = next((name for name in services if places[name].server == WORKER_REFERENCE), services[0])
    for other in services:
        if other != reference:
            models = {name: places[name].server.partition("-")[2] for name in (other, reference)}
            after = under(ranking, (places[other], places[reference]))
            model = models[other]
            bare = places[other].framework in BARE
            rank = (not bare, number, MODELS.index(model) if model in MODELS else len(MODELS))
            yield _Answer("workers", rank, _sentence(context, worker_words(ranking, other, reference, models) + after))


def under(ranking: Ranking, pair: Sequence[Coordinates]) -> str:
    """The conditions that decide which of gunicorn's worker models is faster, as the end of a sentence."""
    waits, kept = wait_words(ranking.wait), ranking.connections_kept
    conditions = [f"waiting for {waits}"] if waits else []
    if kept is not None:
        closes = " (the sync worker has none)" if WORKER_REFERENCE in {place.server for place in pair} else ""
        conditions.append(f"with keep-alive{closes}" if kept else "with a new connection for each request")
    varied = any("WORKERS" in place.settings for place in pair)
    conditions += [f"with {ranking.workers} workers each"] if not varied and (ranking.workers or 1) > 1 else []
    return "".join(f", {words}" for words in conditions)


def _most_important(answers: Sequence[_Answer]) -> list[_Answer]:
    """At most MOST answers, preferring the first ones of each kind; their order stays."""
    seen: Counter[str] = Counter()
    late = []
    for one in answers:
        late.append(seen[one.kind] >= FIRST.get(one.kind, 1))
        seen[one.kind] += 1
    chosen = sorted(range(len(answers)), key=lambda number: late[number])[:MOST]
    return [answers[number] for number in sorted(chosen)]


def _names(ranking: Ranking, places: Places, labels: Mapping[str, str]) -> dict[str, str]:
    """Names for the sentence on the whole table: row labels, with frameworks spelled as in prose."""
    differs = differing([row.service for row in ranking.rows], places)
    if differs == {"settings"}:
        return {name: f"{places[name].server} with {label}" for name, label in labels.items()}
    frameworks = not {"server", "python", "base", "package", "settings"} & differs
    return {name: framework_words(label) if frameworks else label for name, label in labels.items()}


def _sentence(context: str, words: str) -> str:
    return f"{_capital(f'{context}, {words}' if context else words)}."


def _context(place: Coordinates, by: str, differs: set[str]) -> str:
    """What the services of a question share, unless the whole table shares it."""
    shared = {"server": f"with {framework_words(place.framework)}", "framework": f"on {place.server}"}
    stack_words = shared.get(by, f"with {place.stack}")
    also = [f"on {coordinate_words(place, name)}" for name in ("python", "base") if name in differs and name != by]
    if "settings" in differs and by != "settings" and place.settings:
        also.append(f"with {setting_words(place.settings)}")
    return " ".join([*([stack_words] if {"server", "framework"} & differs - {by} else []), *also])


def _prose(place: Coordinates, name: str) -> str:
    return framework_words(place.framework) if name == "framework" else coordinate_words(place, name)


def _capital(words: str) -> str:
    """Capitalizes the first word of a sentence, unless it is the name of a service."""
    begins = words.partition(" ")[0].rstrip(",") in _OWN_WORDS or words.startswith("a bare ")
    return capital(words) if begins else words


_OWN_WORDS = frozenset({"with", "on", "no", "only", "not", "these"})


MOST_PAIRS = 6
"""The most pairs of two refs that get a sentence."""


def ref_question(pairs: Sequence[Pair], places: Places) -> str:
    """The question of a table that compares two refs; empty for other tables."""
    known = [(places[a], places[b]) for a, b in pairs if a in places and b in places]
    if not known:
        return ""
    base, head = known[0]
    stacks = list(dict.fromkeys(place.stack for pair in known for place in pair))
    same = f" ({', '.join(stacks)}; Python {base.python}, {base.base})" if len(stacks) <= 3 else ""
    return f"{ref_of(head)} against {ref_of(base)}?{same}"


def ref_sentences(ranking: Ranking, pairs: Sequence[Pair], places: Places) -> tuple[str, ...]:
    """A sentence for each pair of services from two refs, then how many pairs are left out; empty without pairs."""
    rows = {row.service: row for row in ranking.rows}
    known = [pair for pair in pairs if rows.keys() >= set(pair) and places.keys() >= set(pair)]
    several = len(known) > 1
    comparisons = []
    for pair in known:
        base, head = (places[name] for name in pair)
        # The table's question already names the refs.
        which = f"{head.stack} against {base.stack}: " if base.stack != head.stack else f"{base.stack}: "
        # If one of the two has no figure, it is obvious that the other has nothing to compare with.
        lost = [name for name in pair if not rows[name].windows] or [name for name in pair if rows[name].rank is None]
        why = [_why_lost(ref_of(places[name]), rows[name]) for name in lost]
        names = {name: _ref_name(places[name], several) for name in pair}
        words = "; ".join(why) or _head_words(ranking, pair, names)
        if not why and base.server != head.server and only_gunicorn((base, head)):
            words += under(ranking, (base, head))
        comparisons.append(f"{which}{words}." if several else f"{_capital(words)}.")
    left = len(comparisons) - MOST_PAIRS
    more = (f"{plural(left, 'more comparison')} in verdicts.jsonl.",) if left > 0 else ()
    return (*comparisons[:MOST_PAIRS], *more)


def _head_words(ranking: Ranking, pair: Pair, names: Mapping[str, str]) -> str:
    """The head relative to the base, whichever is faster, as the pull request comment words it."""
    base, head = pair
    gap = ranking.ahead(head, base)
    if ranking.look is None or gap is None or not gap.called or gap.interval is None:
        return order_words(ranking, [row.service for row in ranking.rows if row.service in pair], names)
    return f"{names[head]} {change_of(ranking.metric, gap).verb(names[base])}"


def _why_lost(ref: str, row: RankedRow) -> str:
    return f"{ref} {'cannot be compared' if row.windows else 'has no figure'} ({note_of(row)})"


def _ref_name(place: Coordinates, several: bool) -> str:
    """The ref of a service; with several pairs, also the settings that were varied."""
    varied = [f"{name}={value}" for name, value in place.settings.items() if name != REF]
    return ref_of(place) + (f" ({' '.join(varied)})" if several and varied else "")


def against(refs: RefsFacts | None) -> str:
    """`WORKTREE (1a2b3c4 and uncommitted changes) against main (1a2b3c4)`; empty for a run without refs."""
    return f"{_with_commit(refs.head)} against {_with_commit(refs.base)}" if refs and refs.head and refs.base else ""


def _with_commit(side: RefFacts) -> str:
    return f"{side.ref} ({(side.head or 'unknown')[:7]}{' and uncommitted changes' * side.dirty})"
