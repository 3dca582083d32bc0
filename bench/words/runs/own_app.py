"""The answer for a user's own app, in words: which server, worker model, number of workers and Python."""

from __future__ import annotations

from collections.abc import Iterable

from bench.analysis.runs.own_app import Facts, own_app_of, service_of, workers_of
from bench.analysis.tables.gaps import Gaps
from bench.analysis.tables.ranking import RankedRow, Ranking
from bench.core.files import items, mapping
from bench.core.formats import listed, number
from bench.words.tables.remarks import note_of


def own_app_answers(facts: Facts, rankings: Iterable[Ranking]) -> list[tuple[str, str]]:
    """(requests, answer) of each ranking; empty in a run of the matrix."""
    app = own_app_of(facts)
    return [(request_words(app, ranking.scenario), _answer(facts, app, ranking)) for ranking in rankings] if app else []


def request_words(app: Facts, scenario: str) -> str:
    """What a scenario asks: `GET /products/1`; of a mix every request with its share."""
    targets = [mapping(one) for one in items(app.get("targets"))]
    own = [one for one in targets if one.get("scenario") == scenario] or targets
    total = sum(float(one.get("weight") or 1) for one in own)
    if len(own) == 1:
        return str(own[0].get("request"))
    return ", ".join(f"{one.get('request')} ({100 * float(one.get('weight') or 1) / total:.0f} %)" for one in own)


def _answer(facts: Facts, app: Facts, ranking: Ranking) -> str:
    measured = [row for row in ranking.rows if row.windows]
    if not measured:
        return f"no server has a figure: {note_of(ranking.rows[0]) if ranking.rows else 'nothing was measured'}."
    if len(measured) == 1:
        [only] = measured
        lost = [f"{server_words(facts, row.service)} ({note_of(row)})" for row in ranking.rows if not row.windows]
        others = f" Without figures: {listed(lost)}." if lost else ""
        return f"only {choice_words(facts, only.service)} has figures that count: {figures_words(only)}.{others}"
    if ranking.look is None:
        return "no server can be named yet: too few rounds were measured."
    ranked = [row for row in ranking.rows if row.rank is not None]
    if len(ranked) == 1:
        apart = listed([server_words(facts, row.service) for row in measured])
        return f"no server can be named: no two of {apart} were ever measured in one window."
    best = ranked[0]
    figures = f"{choice_words(facts, best.service)}: {figures_words(best)}."
    equal = [server_words(facts, name) for name in Gaps(ranking).front([row.service for row in ranked])]
    if len(equal) > 1:
        return f"these rounds do not tell {listed(equal)} apart; the best figures are those of {figures}"
    return f"run it on {figures}"


def choice_words(facts: Facts, service: str) -> str:
    """`granian-wsgi (processes, HTTP in Rust, threads) with 1 worker on Python 3.13`."""
    entry, workers = service_of(facts, service), workers_of(facts)
    if entry.get("url"):
        return f"{service} ({entry.get('model', 'unknown')}; its settings are not known here)"
    server = f"{entry.get('server', service)} ({entry.get('model', 'unknown')})"
    return f"{server} with {workers} worker{'s' * (workers != '1')} on Python {entry.get('python', '?')}"


def server_words(facts: Facts, service: str) -> str:
    """The server, with its Python where the run has several."""
    entry = service_of(facts, service)
    listed_services = map(mapping, mapping(facts.get("services")).values())
    pythons = {one.get("python") for one in listed_services if not one.get("url")}
    name = str(entry.get("server", service))
    return f"{name} on Python {entry.get('python')}" if len(pythons) > 1 and not entry.get("url") else name


def figures_words(row: RankedRow) -> str:
    """Requests/s and CPU time of a row."""
    parts = [f"{number(row.goodput.mean)} requests/s"] if row.goodput else []
    if row.cpu_us:
        per_core = number(1e6 / row.cpu_us.mean)
        parts.append(f"{number(row.cpu_us.mean)} µs of CPU per request, or {per_core} requests/s per core")
    return "; ".join(parts) or "no figure"
