"""What the report says of two machines."""

from __future__ import annotations

from bench.words.setup import machines_words


def test_where_what_was_and_what_isolation_differs() -> None:
    words = machines_words({"server": "one", "loadgen": "two", "published": "198.18.83.1:21000-21004"})
    assert words.startswith(
        "services, database and upstream on one, load generator on two; ports published at 198.18.83.1:"
    )
    assert "a route out" in words and "without masquerading" in words and "not encrypted" in words


def test_what_is_not_there_is_unknown() -> None:
    assert machines_words({}).startswith("services, database and upstream on unknown, load generator on unknown;")
