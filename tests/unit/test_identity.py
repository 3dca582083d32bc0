"""What identifies a measurement is parsed where files, options and declarations are read, and nowhere else."""

import ast
import re
from collections.abc import Iterator

import pytest
from places import ROOT

PARSERS = re.compile(r"(?:Level|ToolLevel|Settings|EventCase)\.(?:parse|read)\Z")
SPLITS = frozenset(
    {"match", "fullmatch", "search", "sub", "split", "partition", "rpartition"}
    | {"startswith", "endswith", "removeprefix", "removesuffix"}
)
IDENTITY = re.compile(r"\b(?:scenario|level|case|settings)\b")
READERS = {
    "bench/cli/arguments.py": "the options",
    "bench/cli/names.py": "the forms of levels that options take",
    "bench/matrix/load.py": "the presets",
    "bench/matrix/model.py": "the routes of scenarios",
    "bench/tools/levels.py": "what a level's text means",
    "bench/core/service_settings.py": "what the text of settings means",
    "bench/plan/event.py": "the name of the level of an event's case",
    "bench/run/facts.py": "the waits of earlier runs, by the scenario's name",
    "bench/render/site_pages.py": "verdicts.jsonl",
    "calibration/turns.py": "verdicts.jsonl",
    "calibration/truths.py": "the truths, which are named after scenarios without their number",
}
"""Where identity enters as text, and from what. Plan lines and records are read by `bench.core.typed`."""


def parsed_in(source: str) -> Iterator[str]:
    """The calls that parse text of an identity."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            call = ast.unparse(node)
            splits = node.func.attr in SPLITS and IDENTITY.search(call)
            if splits or PARSERS.match(ast.unparse(node.func)):
                yield call


def found() -> dict[str, list[str]]:
    """These calls by file."""
    files = [path for name in ("bench", "calibration") for path in (ROOT / name).rglob("*.py")]
    calls = {str(path.relative_to(ROOT)): [*parsed_in(path.read_text())] for path in files}
    return {name: own for name, own in calls.items() if own}


def test_identity_is_parsed_only_where_its_text_enters() -> None:
    assert {name: calls for name, calls in found().items() if name not in READERS} == {}


def test_every_reader_that_is_allowed_is_one() -> None:
    assert READERS.keys() - found().keys() == set()


PARSING = [
    "Level.parse(text)",
    "Settings.read(entry['settings'])",
    "row.case.text.partition(', boot ')",
    "re.match('delay-', record.scenario)",
    "str(level).endswith('close')",
]


@pytest.mark.parametrize("source", PARSING)
def test_parsing_is_recognised(source: str) -> None:
    assert [*parsed_in(source)]
