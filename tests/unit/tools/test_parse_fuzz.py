"""Damaged samples of all load tools: whatever a parser is given, its figures are in range and agree, in linear time."""

from __future__ import annotations

import time

from fuzz import ODD_TEXT, as_bytes, damaged_json, damaged_text, fuzz
from hypothesis import strategies as st
from parse_properties import check
from parse_samples import ALL

from bench.tools import TOOLS, parse

TEXTS = {tool: [s.data[:6000].decode(errors="replace") for s in ALL if s.tool == tool] for tool in TOOLS}
JSON = {tool: [s.data.decode() for s in ALL if (s.tool, s.truth["format"]) == (tool, "json")] for tool in TOOLS}
LONGEST_S, A_BYTE_S = 0.5, 10e-6
"""What a text may take, and each of its bytes: a hundred times what it does."""


@st.composite
def outputs(draw: st.DrawFn) -> tuple[str, bytes]:
    """A tool, and a damaged output, of it or of another one."""
    tool = draw(st.sampled_from([*TOOLS]))
    damaged = [damaged_text(text) for text in TEXTS[tool]]
    damaged += [damaged_json(text) for text in JSON[tool]]
    parts = draw(
        st.lists(
            st.one_of(st.sampled_from(damaged).flatmap(lambda found: found), st.sampled_from(ODD_TEXT)),
            min_size=1,
            max_size=2,
        )
    )
    return tool, as_bytes("".join(parts))


KEPT = [
    ("hey", next(text for text in TEXTS["hey"] if "[200]" in text).replace("[200]", "[0]")),
    ("wrk", "\U0001239a" * 80),
]
"""Answers with the status 000; a first line that is long when it is quoted."""


@fuzz(outputs(), examples=200, kept=[(tool, text.encode()) for tool, text in KEPT])
def test_fuzz_a_damaged_output(case: tuple[str, bytes]) -> None:
    tool, data = case
    begin = time.process_time()
    parsed = parse(tool, data)
    assert time.process_time() - begin < LONGEST_S + A_BYTE_S * len(data)
    check(parsed)


@fuzz(st.tuples(st.sampled_from([*TOOLS]), st.binary(max_size=2000)), examples=100)
def test_fuzz_any_bytes(case: tuple[str, bytes]) -> None:
    check(parse(*case))
