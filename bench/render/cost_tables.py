"""Tables of what frameworks cost, as Markdown for docs/profiles.md, and what in them needs an explanation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.analysis.profiles.framework_costs import SPREAD, CostFigure, Costs, Group, Reversal, Window


def table(found: Costs, group: Group, routes: Sequence[str], names: Mapping[str, str], high: Iterable[object]) -> str:
    """A group's table: the bare app's CPU time and the others' shares of it; without a bare app, CPU time alone."""
    rounds = max((cost.us.rounds for (service, _), cost in found.items() if service in group.services), default=0)
    title = f"{group.title}, {rounds} {'round' if rounds == 1 else 'rounds'}:"
    head = [title, "", _line(["", *(f"`{route}`" for route in routes)]), "|---|" + "---:|" * len(routes)]
    marked = set(high)
    rows = []
    for service in group.services:
        cells = []
        for route in routes:
            cost = found.get((service, route))
            text = "-" if cost is None else _figure(cost.share, "") if cost.share else _figure(cost.us, " µs")
            cells.append(f"**{text}**" if (service, route) in marked else text)
        rows.append(_line([names[service], *cells]))
    return "\n".join([*head, *rows]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _figure(figure: CostFigure, unit: str) -> str:
    """The median, and its range where rounds are far apart."""
    texts = [_number(value, unit) for value in (figure.middle, figure.low, figure.high)]
    return f"{texts[0]}{unit} ({texts[1]} to {texts[2]})" if figure.spread > SPREAD else f"{texts[0]}{unit}"


def _number(value: float, unit: str) -> str:
    if not unit:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def to_explain(
    found: Costs, high: Mapping[tuple[str, str], float], turned: Iterable[Reversal], void: Iterable[Window]
) -> Iterator[str]:
    """A line for each figure far above its kind, each order that is another with an ORM, each missing figure."""
    for (service, route), middle in high.items():
        figure = found[service, route].figure.middle
        yield f"{service} {route}: {figure / middle:.1f} times the median of its kind"
    for turn in turned:
        yield f"{turn.cheaper_raw} costs less than {turn.cheaper_orm} on /raw{turn.path}, and more on /orm{turn.path}"
    for window in void:
        yield f"{window.service} {window.route}, round {window.round}: wrong answers, so no figure"
