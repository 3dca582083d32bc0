"""Two refs that are compared, in words: `gevent against sync: gevent served 3.1 times as many requests .. as sync`.

run.json says which two services belong together; what is said of them is from the verdicts alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.analysis.coordinates import Coordinates, Places
from bench.analysis.runs.pairs import ref_of
from bench.analysis.tables.ranking import RankedRow, Ranking
from bench.core.files import mapping
from bench.matrix.knobs import REF
from bench.plan.measurement import Pair, settings_of
from bench.words.tables.answers import only_gunicorn, under
from bench.words.tables.order import Order
from bench.words.tables.remarks import note_of

MOST = 6
"""Pairs that get a sentence."""


def ref_question(pairs: Sequence[Pair], places: Places) -> str:
    """What a table of two refs answers; empty for any other."""
    known = [(places[a], places[b]) for a, b in pairs if a in places and b in places]
    if not known:
        return ""
    base, head = known[0]
    stacks = list(dict.fromkeys(place.stack for pair in known for place in pair))
    same = f" ({', '.join(stacks)}; Python {base.python}, {base.base})" if len(stacks) <= 3 else ""
    return f"{ref_of(head)} against {ref_of(base)}?{same}"


def ref_sentences(ranking: Ranking, pairs: Sequence[Pair], places: Places) -> tuple[str, ...]:
    """A sentence for each pair of a table, then how many are left; none where it has no pairs."""
    rows = {row.service: row for row in ranking.rows}
    own = [pair for pair in pairs if rows.keys() >= set(pair) and places.keys() >= set(pair)]
    several = len(own) > 1
    found = []
    for pair in own:
        base, head = (places[name] for name in pair)
        against = f"{ref_of(head)} against {ref_of(base)}"
        if base.stack != head.stack:
            against += f" ({head.stack} against {base.stack})"
        elif several:
            against = f"{base.stack}, {against}"
        # Where one has no figure, that the other has nothing to be compared with is no news.
        lost = [name for name in pair if not rows[name].windows] or [name for name in pair if rows[name].rank is None]
        why = [_why_lost(ref_of(places[name]), rows[name]) for name in lost]
        words = "; ".join(why) or _order(ranking, pair, {name: _name(places[name], several) for name in pair})
        if not why and base.server != head.server and only_gunicorn((base, head)):
            words += under(ranking, (base, head))
        found.append(f"{against}: {words}.")
    more = (f"{len(found) - MOST} more are in verdicts.jsonl.",) if len(found) > MOST else ()
    return (*found[:MOST], *more)


def _why_lost(ref: str, row: RankedRow) -> str:
    return f"{ref} {'cannot be compared' if row.windows else 'has no figure'} ({note_of(row)})"


def _name(place: Coordinates, several: bool) -> str:
    """Of several pairs, a setting that was varied besides tells the services apart."""
    varied = [f"{name}={value}" for name, value in settings_of(place.settings).items() if name != REF]
    return ref_of(place) + (f" ({' '.join(varied)})" if several and varied else "")


def _order(ranking: Ranking, pair: Pair, names: Mapping[str, str]) -> str:
    ordered = [row.service for row in ranking.rows if row.service in pair]
    return Order(ranking).order(ordered, names)


def against(facts: Mapping[str, Any]) -> str:
    """`WORKTREE (1a2b3c4 and uncommitted changes) against main (1a2b3c4)`; empty for a run without refs."""
    refs = mapping(facts.get("refs"))
    sides = [mapping(refs.get(which)) for which in ("head", "base")]
    return " against ".join(map(_with_commit, sides)) if all(sides) else ""


def _with_commit(side: Mapping[str, Any]) -> str:
    commit = str(side.get("head") or "unknown")[:7]
    return f"{side.get('ref')} ({f'{commit} and uncommitted changes' if side.get('dirty') else commit})"
