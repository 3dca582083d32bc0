"""What figures are for: a text about requests stays as it is, and is otherwise about what the exchange counts."""

from __future__ import annotations


import base64
import hashlib
import re
from pathlib import Path

import pytest
from ranking_run import changed, page, two_tables

from bench.analysis.tables.ranking import REQUEST
from bench.render.columns import ranking_columns
from bench.render.in_turns import ranking_table
from bench.render.page.rankings import rankings_of
from bench.words.units import in_units

TEXTS = {
    "requests/s": "messages/s",
    "Most requests/s of ws-echo-16, 4 services": "Most messages/s of ws-echo-16, 4 services",
    "served 12 % more requests per second than uvicorn": "served 12 % more messages per second than uvicorn",
    "needs 93 % more CPU per request (85 to 101 %)": "needs 93 % more CPU per message (85 to 101 %)",
    "Least CPU per ws-echo-16 response": "Least CPU per message of ws-echo-16",
    "ranked by CPU time per successful response.": "ranked by CPU time per message.",
    "Successful responses per second": "Successful responses per second",
    "req.\n/s": "messages\n/s",
    "µs CPU\n/req.": "µs CPU\n/message",
    "the 10th of requests that wait": "the 10th of requests that wait",
    "requests 2.33.0 (the package), 5 requests at once": "requests 2.33.0 (the package), 5 requests at once",
}


@pytest.mark.parametrize("text", TEXTS)
def test_figures_are_for_what_is_counted(text: str) -> None:
    assert in_units(text, "message") == TEXTS[text]
    assert in_units(text, REQUEST) is text


REQUESTS = re.compile(r"[Rr]equests(/s| per second)|per (\S+ )?(request|response)\b|req\.")


def test_a_ranking_of_messages_says_so_in_every_heading_and_note() -> None:
    for text in two_tables():
        echo = changed(text, scenario="ws-echo-16", unit="message")
        (answer,) = rankings_of([echo])
        table = ranking_table(echo)
        columns = [words for column in ranking_columns(echo, str) for words in (column.name, column.short)]
        said = [answer.question, answer.caption, *answer.notes, *(head.title for head in answer.heads)]
        said += [table.title, *table.columns, *table.notes, *columns]
        assert [words for words in said if REQUESTS.search(words)] == []
        assert {"messages/s", "CPU per message"} <= {*table.columns} and "messages\n/s" in columns
        (falling,) = (head.title for head in answer.heads if head.falling)
        assert falling == "messages/s"


def test_a_page_of_messages_alone_speaks_of_no_requests_and_its_scripts_still_run(tmp_path: Path) -> None:
    rankings = [changed(text, unit="message") for text in two_tables()]
    html = page(tmp_path, rankings, kinds=dict.fromkeys(("json", "delay-20"), "websocket")).read_text()
    assert [html[max(0, m.start() - 60) : m.end()] for m in re.finditer("[Rr]equests/s|CPU per request", html)] == []
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert scripts and all(f"'sha256-{one}'" in html for one in hashes)
