"""Reads the page of `/raw/fortunes` and `/orm/fortunes` as a browser would show it."""

import re
from html.parser import HTMLParser

from bench.contract.expect import Mismatch, brief, expect

_ID = re.compile(r"\s*[0-9]{1,9}\s*")


def read_fortunes(page: bytes) -> list[tuple[int, str]]:
    """(id, message) of each row; `Mismatch` when the page has no such table."""
    table = _Table()
    try:
        table.feed(page.decode("utf-8"))
        table.close()
    except ValueError as error:
        raise Mismatch("HTML in UTF-8", str(error)) from None
    expect("script" not in table.tags, "the script tag escaped", "a script element in the page")
    expect({"html", "table"} <= table.tags, "an HTML page with a table", brief(page))
    for row in table.rows:
        expect(len(row) == 2 and bool(_ID.fullmatch(row[0])), "rows of id and message", brief(row))
    return [(int(number), message) for number, message in table.rows]


class _Table(HTMLParser):
    """Collects the text of each `td`, by `tr`; a row of `th` alone is a heading and left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self._row: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self._row = []
        elif tag == "td":
            if not self._row:
                self.rows.append(self._row)
            self._row.append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "tr"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self._row[-1] += data
