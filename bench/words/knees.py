"""Knee searches in words: the highest rate of each service within the p99 limit, and which rates differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.analysis.cells.knees import Knee, Knees
from bench.analysis.services import Places
from bench.core.exchange import Wait
from bench.core.formats import joined, number, plural
from bench.words.names import labels_of, scenario_words

APART = 1.25
"""Two rates differ from this ratio on: searches are minutes apart, advance in steps of 5 %, and have no interval."""


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
        yield f"No winner {'between' if len(left) == 1 else 'among'} {names}: {why}."


def describe_knees(
    searches: Knees, places: Places, waits: Mapping[str, Wait | None]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(question, load, sentences) of each search of a run."""
    for (scenario, level), knees in searches.items():
        labels = labels_of([one.service for one in knees], places)
        labels = {name: label or name for name, label in labels.items()}
        asked = f"How many requests/s keep p99 within {1000 * (level.knee_p99_s or 0):g} ms?"
        yield asked, scenario_words(scenario, waits[scenario]), tuple(knee_sentences(knees, labels))
