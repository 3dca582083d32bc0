"""Everything that is said of a ranking: its question, its sentences, the names and notes of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.analysis.coordinates import Places, places_of
from bench.analysis.reference_results import ReferenceComparison, reference_results
from bench.analysis.runs.pairs import pairs_of
from bench.analysis.tables.published_ratios import along_axes, published_beside
from bench.analysis.tables.ranking import Cheapest, Ranking
from bench.analysis.tables.turn_bias import TurnBias
from bench.core.files import mapping
from bench.core.formats import listed, number
from bench.plan.measurement import Pair
from bench.records.record import Record
from bench.words.names import labels_of
from bench.words.questions import table_question
from bench.words.tables.answers import sentences
from bench.words.tables.published import along_sentence, published_sentence
from bench.words.tables.quotas import limits_words
from bench.words.tables.refs import ref_question, ref_sentences
from bench.words.tables.remarks import note_of
from bench.words.tables.undecided import beside_words

LEAST_CREDIT = 0.01
"""From here on it is said that services may have lost requests to other programs."""
LATE = (
    "This run was made by a version that counted responses from after the services' turns: requests/s are 1.5 to 9 %"
    " too high, and not equally. Measure it again before you rely on a difference of that size."
)


@dataclass(frozen=True, slots=True)
class ToldRanking:
    """A ranking in words; `labels` and `notes` are by service.

    `sentences` begins with the one about the whole table. `beside` says of the pairs without a called difference which
    one would have been called.
    """

    ranking: Ranking
    question: str
    sentences: tuple[str, ...]
    labels: Mapping[str, str]
    notes: Mapping[str, str]
    beside: tuple[str, ...] = ()

    def name(self, service: str) -> str:
        """The label of a service, or its name where that is one word instead of several."""
        label = self.labels[service]
        return service if "," in label else label


def tell(rankings: Iterable[Ranking], facts: Mapping[str, Any], records: Iterable[Record]) -> tuple[ToldRanking, ...]:
    """The rankings of a run in words; pure."""
    places, pairs = places_of(facts, records), pairs_of(facts) if facts.get("refs") else ()
    reference, knobs = reference_results().get(str(facts.get("published"))), mapping(facts.get("knobs"))
    return tuple(told_ranking(one, places, reference, knobs, pairs) for one in rankings)


def told_ranking(
    ranking: Ranking,
    places: Places,
    reference: ReferenceComparison | None = None,
    knobs: Mapping[str, Any] | None = None,
    pairs: Sequence[Pair] = (),
) -> ToldRanking:
    """One ranking in words: `places` has what its services are made of, `pairs` those of two refs."""
    services = [row.service for row in ranking.rows]
    labels = labels_of(services, places)
    first, *rest = ref_sentences(ranking, pairs, places) or sentences(ranking, places, labels)
    # What the machine cannot show comes before what it does.
    told = [first, *limits_words(places, services, knobs or {})]
    told += [cheapest_words(ranking.cheapest, labels)] if ranking.cheapest else []
    told += rest
    if ranking.unknown_cpu:
        told.append(f"CPU per request is not known ({ranking.unknown_cpu}): requests/s are compared.")
    told += [LATE] if ranking.late else []
    beside = published_beside(ranking, reference, {name: place.stack for name, place in places.items()})
    told += [published_sentence(beside, labels)] if beside else []
    told += map(along_sentence, along_axes(ranking, reference, places))
    made = ToldRanking(
        ranking=ranking,
        question=ref_question(pairs, places) or table_question(services, places),
        sentences=tuple(told),
        labels=labels,
        notes={row.service: note_of(row) for row in ranking.rows},
    )
    return replace(made, beside=tuple(beside_words(ranking, made.name)))


def cheapest_words(found: Cheapest, labels: Mapping[str, str]) -> str:
    """Which services need the least CPU per request."""
    one = len(found.services) == 1
    needs = f"{number(found.least_us)} µs" if one else f"{number(found.least_us)} to {number(found.most_us)} µs"
    who = listed([labels[name] for name in found.services])
    tied = "" if one else ", and are tied"
    return f"Cheapest: {who} need{'s' * one} the least CPU per request ({needs}){tied}."


def systematic_words(ranking: Ranking) -> list[str]:
    """What its intervals include beside chance."""
    return [words for words in (bias_words(ranking.bias), credit_words(ranking.credit)) if words]


def credit_words(credit: float) -> str:
    """What services that idle may have lost to other programs; empty where that is next to nothing."""
    if credit < LEAST_CREDIT:
        return ""
    most = f"Without other programs, services that idle may have served up to {100 * credit:.0f} % more requests/s"
    return f"{most}; their intervals include it."


def bias_words(bias: TurnBias | None) -> str:
    """How far taking turns may move ratios; empty where it does not."""
    if bias is None:
        return ""
    where = "a machine with this CPU" if bias.here else f"another machine, {bias.cpu}"
    share = f"{100 * bias.share:.0f} % (measured on {where})"
    return f"Taking turns can bias ratios of unlike servers by up to {share}; their intervals include it."
