"""The tables of services measured alone: what a row is compared with, and the presets that have such loads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from built_runs import report_of
from make_plans import plan
from make_run import entry, output_of, write_measurement, write_run

from bench.render.alone import note

LOADS = (("wrk", "c32"), ("ab", "c32"), ("hey", "c32"), ("hey", "c32r200"), ("vegeta", "r200"))
"""Those of the preset four-tools that are measured alone."""


def report(folder: Path, rates: Mapping[tuple[str, str, str], tuple[float, int]], **facts: Any) -> str:
    """The report of one round with these (requests/s, bad responses) by stack, tool and level, of the scenario root."""
    lines = [entry(stack, "root", tool, level, number=n) for n, (stack, tool, level) in enumerate(rates, 1)]
    write_run(folder, lines, **facts)
    for line, (rps, bad) in zip(lines, rates.values(), strict=True):
        write_measurement(folder, line, output_of(line, rps, bad))
    return report_of(folder)


def columns(text: str, *names: str) -> list[list[str]]:
    """These columns of the table of the scenario root."""
    table = text.partition("### root, measured alone\n\n")[2].partition("\n\n")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
    return [[row[head.index(name)].removesuffix("-py313-debian") for name in names] for row in rows]


def test_every_tool_and_level_of_a_service_is_a_row(tmp_path: Path) -> None:
    rates = {(stack, *load): (200.0, 0) for load in LOADS for stack in ("gunicorn-sync-wsgi", "uvicorn-asgi")}
    text = report(tmp_path, rates)
    assert columns(text, "service", "tool", "level", "ratio") == [
        [stack, tool, level, ratio]
        for tool, level in sorted(LOADS)
        for stack, ratio in (("gunicorn-sync-wsgi", "base"), ("uvicorn-asgi", "1.000"))
    ]
    assert [text.count(note(n)) for n in ("base", "closed_loop", "open_loop", "at_target", "knee")] == [1, 1, 1, 1, 0]


def test_a_single_service_has_no_ratio(tmp_path: Path) -> None:
    text = report(tmp_path, {("uvicorn-asgi", tool, "c32"): (4000, 0) for tool in ("wrk", "hey")})
    assert columns(text, "tool", "requests/s") == [["hey", "4,000"], ["wrk", "4,000"]]
    assert "ratio" not in text and note("base") not in text and note("at_target") not in text


def test_the_base_is_the_first_service_with_a_valid_figure(tmp_path: Path) -> None:
    rates = {"gunicorn-sync-wsgi": (4000, 100), "uvicorn-asgi": (3000, 0), "aiohttp": (6000, 0)}
    text = report(tmp_path, {(stack, "wrk", "c32"): rate for stack, rate in rates.items()})
    assert columns(text, "service", "requests/s", "ratio") == [
        ["uvicorn-asgi", "3,000", "base"],
        ["gunicorn-sync-wsgi", "–", "–"],
        ["aiohttp", "6,000", "2.000"],
    ]
    assert "| errors: 100 of " in text


PUBLISHED = {
    "all of the original": (
        {"bjoern-wsgi": "r20000", "uvicorn-asgi": "r10000", "cherrypy": "r2000"},
        {"bjoern-wsgi": ("base", "base"), "uvicorn-asgi": ("0.500", "0.489"), "cherrypy": ("0.100", "0.056")},
    ),
    # The base is the first of each load, also of the published ratio: 6,622.16 / 7,371.08.
    "without its base": (
        {"uvicorn-asgi": "r10000", "cherrypy": "r2000", "bjoern-hug": "r10000"},
        {"bjoern-hug": ("1.000", "0.898"), "cherrypy": ("base", "base"), "uvicorn-asgi": ("base", "base")},
    ),
    "a service that it did not have": (
        {"bjoern-wsgi": "r20000", "aiohttp": "r20000"},
        {"bjoern-wsgi": ("base", "base"), "aiohttp": ("1.000", "–")},
    ),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_ratios_have_the_base_of_those_here(tmp_path: Path, case: str) -> None:
    levels, expected = PUBLISHED[case]
    rates = {(stack, "vegeta", level): (float(level[1:]), 0) for stack, level in levels.items()}
    rows = columns(report(tmp_path, rates, published="wsgi-asgi"), "service", "ratio", "published")
    found = {stack: (ratio, published.partition(",")[0]) for stack, ratio, published in rows}
    assert found == expected


def test_the_preset_has_the_same_cells_for_all_four_tools() -> None:
    made = plan(preset="four-tools")
    assert made.preset.rounds == 8
    for service in made.services:
        own = {(c.tool, c.level.text) for c in made.alone if c.service is service}
        assert own == set(LOADS)
