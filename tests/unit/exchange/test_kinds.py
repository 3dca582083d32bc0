"""A kind of exchange is a folder, a registration and a tool that speaks it: nobody else decides by its name."""

from __future__ import annotations

import re

from places import ROOT

from bench.core.exchange import SCHEMES, Exchange
from bench.exchange import KINDS, USUAL, kind_named
from bench.exchange.kind import Kind
from bench.run.facts import run_facts_of
from bench.tools import TOOLS
from bench.tools.levels import Level, refusal

FOLDER = ROOT / "bench/exchange"
BY_NAME = re.compile(r"(?<!bench\.)\bexchange\.kind\b|\bkind_named\(\x22|bench\.exchange\.(?!kind\b)\w")
"""What reads the kind of an exchange, or imports a kind's module."""


def test_only_the_registration_and_tools_know_kinds_by_name() -> None:
    files = [path for path in (ROOT / "bench").rglob("*.py") if not {"exchange", "tools"} & {*path.parts}]
    assert len(files) > 150 and [str(path) for path in files if BY_NAME.search(path.read_text())] == []


def test_every_folder_is_registered_and_imports_no_other() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/__init__.py")} == {*KINDS}
    for kind in KINDS:
        assert {*Kind.__annotations__} <= {*dir(kind_named(kind))}
        others = re.compile(rf"bench\.exchange\.(?!kind\b|{kind}\b)|from bench\.exchange import")
        assert not [path for path in (FOLDER / kind).rglob("*.py") if others.search(path.read_text())]


def test_a_tool_makes_the_exchanges_that_it_speaks() -> None:
    kinds, protocols = zip(*(pair for tool in TOOLS.values() for pair in tool.speaks), strict=True)
    assert {*kinds} == {*KINDS} and {*protocols} == SCHEMES.keys()
    assert refusal("wrk", Level.parse("8"), Exchange(kind="sse")) == "wrk does not speak sse over http/1.1"


def test_a_kind_that_is_not_known_is_the_usual_one() -> None:
    assert {run_facts_of({"kinds": {"json": kind}}).kind_of("json") for kind in ("http", "of-tomorrow")} == {USUAL}
