"""The published ratios beside those of a ranking, in words."""

from __future__ import annotations

from collections.abc import Mapping

from bench.analysis.tables.published_ratios import Along, Published, Sign
from bench.core.formats import listed

SIGNS = {
    Sign.SAME: "the same sign",
    Sign.OPPOSITE: "the opposite sign",
    Sign.NOT_SHOWN: "no difference shown here",
    Sign.NONE_THERE: "about equal there",
}


def published_sentence(found: Published, labels: Mapping[str, str]) -> str:
    """Both lists of ratios in one line."""
    there = listed([f"{labels[row.service]} {_ratio(row.published)}" for row in found.rows])
    here = listed([_ratio(row.here) for row in found.rows])
    base, signs = labels[found.base], _signs(found, labels)
    return f"Published, relative to {base} in requests/s: {there}; here {here}: {signs}."


def _signs(found: Published, labels: Mapping[str, str]) -> str:
    if len(found.rows) == 1:
        return SIGNS[found.rows[0].sign]
    same = sum(row.sign is Sign.SAME for row in found.rows)
    others = [f"{SIGNS[row.sign]} for {labels[row.service]}" for row in found.rows if row.sign is not Sign.SAME]
    if not others:
        return f"the same sign for all {same}"
    return f"the same sign for {same} of {len(found.rows)}, {', '.join(others)}"


def along_sentence(found: Along) -> str:
    """The ratios along one axis, there and here."""
    python = found.axis == "python"
    there = listed([f"{name} {_ratio(ratio)}" for name, ratio in found.there])
    own = listed([f"{_value(value, python=python)} {_ratio(ratio)}" for value, ratio in found.here])
    fixed, group = _value(found.fixed, python=not python), found.group
    return f"Published, requests/s of {group.of} ({group.level}): {there}; here, {fixed}: {own}."


def _value(value: str, *, python: bool) -> str:
    return f"Python {value}" if python else value.replace("==", " ")


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"
