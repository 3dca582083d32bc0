"""Text of a run for a reader: invisible characters are named, long text is cut, and Markdown is escaped."""

from __future__ import annotations

import math
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import Markup

from bench.core.templates import environment

NOTES: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("notes.toml").read_text(encoding="utf-8"))
MOST = 2000
"""The most characters of one text in the report; raw output has its own limit."""
_SEEN = frozenset("\n\t")
_MARKDOWN = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "`": "'", "\\": "\\\\", "[": "\\[", "]": "\\]"})


def _is_unseen(mark: str) -> bool:
    """Control and format characters, lone surrogates, unassigned and private characters, line separators."""
    category = unicodedata.category(mark)
    return (category[0] == "C" or category in ("Zl", "Zp")) and mark not in _SEEN


@lru_cache(maxsize=1 << 14)
def visible(text: str) -> str:
    r"""`text` with its invisible characters named: a right-to-left override becomes `⟨U+202E⟩`."""
    if text.isprintable():
        return text
    return "".join(f"⟨U+{ord(mark):04X}⟩" if _is_unseen(mark) else mark for mark in text.replace("\r\n", "\n"))


def escape(text: str) -> str:
    """`text` as one line of Markdown, escaped, with invisible characters named, such as direction marks."""
    return visible(" ".join(text.split())).translate(_MARKDOWN)


def cut(text: str, most: int, characters: int) -> str:
    """A text of so many `characters`, of which `text` has both ends: beyond `most`, a count replaces its middle."""
    if characters <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} […{characters - most:,} characters left out…] {text[len(text) - (most - head) :]}"


def short(text: str, most: int = MOST) -> str:
    """`text` cut and with invisible characters shown."""
    return visible(cut(text, most, len(text)))


def brief(value: Any) -> Any:
    """A float with six significant digits; anything else unchanged."""
    return float(f"{value:.6g}") if type(value) is float else value


def rounded(value: Any) -> Any:
    """A JSON value with floats of six significant digits and every text made visible and short."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return short(value)
    if isinstance(value, dict):
        return {short(str(key)): rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    return value


@cache
def page_template(folder: Path, name: str) -> Template:
    """The template of a page; everything that it prints is text of the run unless it is marked as HTML."""
    templates = environment(
        folder, autoescape=True, finalize=lambda value: value if isinstance(value, Markup) else short(str(value))
    )
    return templates.get_template(name)
