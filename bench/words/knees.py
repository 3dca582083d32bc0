"""Knee searches in words: the highest rate of each service within the p99 limit, and which rates differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.causes import HARMLESS_TO_KNEES, causes_beside
from bench.analysis.services import Places
from bench.core.formats import joined, number, plural
from bench.core.groups import grouped
from bench.plan.levels import SEARCHED, parse_level
from bench.records.knee import NOT_HELD
from bench.records.record import Record
from bench.words.names import labels_of, scenario_words

APART = 1.25
"""Two rates differ from this ratio on: searches are minutes apart, advance in steps of 5 %, and have no interval."""


@dataclass(frozen=True, slots=True)
class Knee:
    """The highest rate of a service (1/s) with p99 within the limit, and in how many `later` rounds it `held`.

    `at_least`: at higher rates the load generator failed, not the service. `why`: the result of a search without a
    rate.
    """

    service: str
    rate: float | None
    held: int = 0
    later: int = 0
    at_least: bool = False
    why: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether it held in most of the later rounds."""
        return self.rate is not None and self.held > 0 and 2 * self.held > self.later


def knees_of(records: Iterable[Record]) -> dict[tuple[str, str], list[Knee]]:
    """By scenario and level, the knee of each service that was searched, the highest first."""
    found: dict[tuple[str, str], list[Knee]] = {}
    for (scenario, level, service), own in grouped(
        (one for one in records if one.mode == "solo" and one.level.startswith(SEARCHED)),
        lambda one: (one.scenario, one.level, one.service),
    ).items():
        found.setdefault((scenario, level), []).append(_knee(service, sorted(own, key=lambda one: one.round)))
    return {key: sorted(knees, key=lambda one: (-(one.rate or 0), one.service)) for key, knees in found.items()}


def _knee(service: str, rounds: Sequence[Record]) -> Knee:
    # Causes against the first window do not discredit the rate found: later rounds tell whether it holds.
    first = next((one for one in rounds if _found(one)), None)
    if first is None or first.rate is None:
        why = dict.fromkeys(one.nulls.get("knee_rate", one.outcome) for one in rounds)
        return Knee(service, None, why="; ".join(why))
    later = [one for one in rounds if one.round > first.round]
    held = sum(_holds(one) and one.rate == first.rate for one in later)
    return Knee(service, first.rate, held, len(later), at_least=first.knee_rate is None)


def _holds(record: Record) -> bool:
    return _found(record) and not causes_beside(record, HARMLESS_TO_KNEES)


def _found(record: Record) -> bool:
    if record.knee_rate is not None:
        return True
    return record.client_limit is not None and not record.nulls.get("knee_rate", "").startswith(NOT_HELD)


def knee_sentences(knees: Sequence[Knee], labels: Mapping[str, str]) -> Iterator[str]:
    """The rate of each service, then which ones differ."""
    known = [one for one in knees if one.rate is not None]
    if known:
        yield f"{'; '.join(_one(one, labels) for one in known)}."
    for one in knees:
        if one.rate is None:
            yield f"{labels[one.service]}: no such rate was found ({one.why})."
    if len(known) > 1:
        yield from _apart(known, labels)


def _one(knee: Knee, labels: Mapping[str, str]) -> str:
    least = "at least " if knee.at_least else ""
    rounds = plural(knee.later, "later round")
    held = f"held in {knee.held} of {rounds}" if knee.later else "not tried in a later round"
    limit = ", the load generator is the limit" if knee.at_least else ""
    verb = "sustains" if knee.confirmed or not knee.later else "reached"
    return f"{labels[knee.service]} {verb} {least}{number(knee.rate or 0)} requests/s ({held}{limit})"


def _apart(known: Sequence[Knee], labels: Mapping[str, str]) -> Iterator[str]:
    """The best service differs from the others if they failed at a rate that it held in later rounds, too."""
    best, *others = known
    below = [
        one for one in others if best.confirmed and not one.at_least and (one.rate or 0) * APART <= (best.rate or 0)
    ]
    if below:
        names = joined([labels[one.service] for one in below])
        top = labels[best.service]
        yield f"{top} sustains more than {names}, which failed at a rate that {top} held."
    if left := [one for one in others if one not in below]:
        names = joined([labels[one.service] for one in (best, *left)])
        why = "the load generator ended a search" if any(one.at_least for one in (best, *left)) else "too close"
        why = why if best.confirmed else "the highest rate did not hold in most later rounds"
        yield f"No difference shown between {names}: {why}."


def knee_question(level: str) -> str:
    """`How many requests/s keep p99 within 50 ms?`."""
    return f"How many requests/s keep p99 within {1000 * (parse_level(level).knee_p99_s or 0):g} ms?"


def told_knees(records: Iterable[Record], places: Places) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(question, load, sentences) of each search of a run."""
    for (scenario, level), knees in knees_of(records).items():
        labels = labels_of([one.service for one in knees], places)
        labels = {name: label or name for name, label in labels.items()}
        yield knee_question(level), scenario_words(scenario), tuple(knee_sentences(knees, labels))
