"""Numbers, percents and lists as text."""

from __future__ import annotations

from bench.core.formats import (
    escaped,
    first_of,
    joined,
    listed,
    markdown_table,
    percent,
    plural,
    printable,
    share,
    size,
)


def test_a_list_names_the_first_ones_and_how_many_more() -> None:
    names = [*"abcdefg"]
    assert [joined(names[:count]) for count in (0, 1, 2, 3)] == ["", "a", "a and b", "a, b and c"]
    assert listed(names[:6]) == "a, b, c, d, e and f" and listed(names) == "a, b, c, d and 3 more"
    assert listed(names, 4, 4) == "a, b, c, d and 3 more" and listed(names[:4], 4, 4) == "a, b, c and d"
    assert first_of(names, 3) == "a, b, c and 4 more" and first_of(names[:3], 3) == "a, b, c"


def test_percents_say_a_difference_a_share_or_a_size() -> None:
    assert percent(1.2) == "+20.0 %"
    assert share(0.99999) == "99.99 %" and share(1) == "100.00 %"
    assert size(0.041) == "4.1 %" and size(0.0996) == "10 %" and size(-0.2) == "-20 %"


def test_a_count_has_its_word() -> None:
    assert plural(1, "round") == "1 round" and plural(8, "round") == "8 rounds"
    assert plural(1000, "request", ",") == "1,000 requests"


def test_no_character_controls_a_terminal() -> None:
    text = "é 日\x1b[2J\n\u202e\\"
    assert printable(text) == "é 日 [2J  \\" and printable(text, "?") == "é 日?[2J??\\"
    assert escaped(text) == "é 日\\x1b[2J\\n\\u202e\\"


def test_figures_of_a_markdown_table_are_aligned_right() -> None:
    assert markdown_table(["name", "requests/s"], [("a", "5,120"), ("b", "833")], {1}).splitlines() == [
        "| name | requests/s |",
        "| --- | ---: |",
        "| a | 5,120 |",
        "| b | 833 |",
    ]
    assert markdown_table(("", "cause"), [], ()) == "|  | cause |\n| --- | --- |"
