"""The template that an app renders its fortunes from: its file, and the text of it that each page has."""

import re
from pathlib import Path

from bench.contract.expect import brief, expect

FRAMEWORKS = Path("services/frameworks")
_STATEMENT = re.compile(r"\{%.*?%\}|^[ \t]*%.*$", re.MULTILINE)
"""A statement, in the syntax of Jinja2, Django and Tornado, or in Bottle's."""


def find_template(framework: str, folder: Path = FRAMEWORKS) -> str:
    """The text of the framework's template of fortunes; empty where there is none."""
    found = sorted((folder / framework).rglob("fortunes.*"))
    return found[0].read_text(encoding="utf-8") if found else ""


def check_rendered(page: bytes, template: str) -> None:
    """Raise `Mismatch` unless the page starts and ends as the template does before and after its statements."""
    parts = [_spaced(part) for part in _STATEMENT.split(template)]
    expect(len(parts) > 1, "a template with a loop in the app's folder", "none")
    before, after = parts[0], parts[-1]
    text = _spaced(page.decode("utf-8", "backslashreplace"))
    expect(text.startswith(before), f"a page that starts as its template, {brief(before)}", brief(text))
    expect(text.endswith(after), f"a page that ends as its template, {brief(after)}", brief(text[-100:]))


def _spaced(text: str) -> str:
    """With each run of white space as one space, to which some engines reduce it."""
    return " ".join(text.split())
