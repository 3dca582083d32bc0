"""What a table of one knob's values is in words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from known_rankings import place, ranking, sentences_of

from bench.analysis.services import Coordinates
from bench.analysis.tables.ranking import Metric, Ranking
from bench.words.names import labels_of, setting_words, table_question
from bench.words.remarks import limits_words

REQUESTS = Metric.GOODPUT


def swept(speeds: Mapping[str, float], metric: Metric = REQUESTS) -> tuple[Ranking, dict[str, Coordinates]]:
    """Services of one stack by their settings."""
    places = {text: place("gunicorn-gthread", settings=text) for text in speeds}
    return ranking(speeds, metric), places


def told(speeds: Mapping[str, float], metric: Metric = REQUESTS) -> list[str]:
    return [*sentences_of(*swept(speeds, metric))]


def test_two_values_are_told_with_the_setting() -> None:
    assert told({"THREADS=1": 100, "THREADS=8": 780}) == [
        "With 8 threads gunicorn-gthread served 7.8 times as many requests per second as with 1 thread (7.7 to 7.9)."
    ]
    assert told({"THREADS=1": 1000, "THREADS=8": 500}, Metric.CPU) == [
        "With 8 threads gunicorn-gthread needs 2.00 times as much CPU per request as with 1 thread (1.98 to 2.02)."
    ]


def test_two_values_that_make_no_difference_are_not_told_apart() -> None:
    assert told({"KEEPALIVE=2": 1000, "KEEPALIVE=5": 1001}) == [
        "gunicorn-gthread with 2 s of keep-alive and with 5 s of keep-alive cannot be told apart (at most 1.1 % apart)."
    ]


def test_where_more_stop_helping_is_said() -> None:
    found = told({"WORKERS=1": 100, "WORKERS=2": 195, "WORKERS=4": 196, "WORKERS=16": 194})
    assert found[1].startswith("With 2 workers gunicorn-gthread served 1.9")
    assert "times as many requests per second as with 1 worker" in found[1]
    assert "; with 4 workers and with 16 workers it is not shown to be faster (at most 1.5 % faster)." in found[1]


def test_more_of_it_may_never_help_or_cost() -> None:
    same = told({"WORKERS=1": 100, "WORKERS=2": 100.5, "WORKERS=4": 99.5})
    assert same[-1].startswith(
        "With 2 workers and with 4 workers gunicorn-gthread is not shown to be faster (at most 1."
    )
    costs = told({"WORKERS=1": 100, "WORKERS=2": 99.9, "WORKERS=4": 80}, Metric.CPU)
    assert "with 4 workers it needs 25 % more CPU per request than with 1 worker" in costs[-1]


def test_more_may_help_up_to_the_last_value() -> None:
    found = told({"THREADS=16": 800, "THREADS=2": 100, "THREADS=4": 200})
    assert "With 16 threads gunicorn-gthread served 8.0" in found[1] and found[1].endswith("; more were not measured.")


def test_a_product_is_told_by_each_knob_with_the_others_value() -> None:
    speeds = {f"WORKERS={w} THREADS={t}": 100.0 * w * t for w in (1, 2) for t in (2, 4)}
    found = told(speeds)
    assert found[0].startswith("gunicorn-gthread with WORKERS=2 THREADS=4 is fastest: 2.0")
    assert any("With 2 workers gunicorn-gthread (2 threads) served" in sentence for sentence in found)
    assert any("With 4 threads gunicorn-gthread (1 worker) served" in sentence for sentence in found)


def test_words_that_are_no_numbers_are_ranked_as_services_are() -> None:
    assert told({"MY_FLAG=on": 100, "MY_FLAG=off": 200}) == [
        "gunicorn-gthread with MY_FLAG=off served 2.00 times as many requests per second as gunicorn-gthread with"
        " MY_FLAG=on (1.98 to 2.02)."
    ]


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["THREADS=1", "THREADS=8"], "How many threads for gunicorn-gthread-flask? (Python 3.13, debian)"),
        (["CPU_QUOTA=0.5", "CPU_QUOTA=1"], "Which CPU quota for gunicorn-gthread-flask? (Python 3.13, debian)"),
        (
            ["WORKERS=2 THREADS=1", "WORKERS=2 THREADS=8"],
            "How many threads for gunicorn-gthread-flask with 2 workers? (Python 3.13, debian)",
        ),
        (
            ["WORKERS=1 THREADS=1", "WORKERS=2 THREADS=8"],
            "Which WORKERS and THREADS for gunicorn-gthread-flask? (Python 3.13, debian)",
        ),
    ],
)
def test_the_question_names_the_knob(texts: list[str], question: str) -> None:
    _, places = swept(dict.fromkeys(texts, 100.0))
    assert table_question(texts, places) == question


def test_labels_name_the_settings() -> None:
    _, places = swept({"THREADS=1": 1, "THREADS=8": 2})
    assert labels_of([*places], places) == {"THREADS=1": "1 thread", "THREADS=8": "8 threads"}
    two = places | {"other": place("waitress", settings="THREADS=8")}
    assert labels_of([*two], two)["other"] == "waitress with 8 threads"
    assert setting_words({"CPU_QUOTA": "0.5", "MEMORY": "256m", "MY_FLAG": "on"}) == (
        "a quota of 0.5 CPUs, 256m of memory and MY_FLAG=on"
    )


def test_one_cpu_is_said_beside_workers_and_threads_alone() -> None:
    _, places = swept({"WORKERS=1": 1, "WORKERS=2": 1})
    (line,) = limits_words(places, [*places], {"SERVER_CPUS": "0"})
    assert line.startswith("The server has one CPU here, which all workers and threads of a service share")
    assert not [*limits_words(places, [*places], {"SERVER_CPUS": "0-3"})]
    _, others = swept({"KEEPALIVE=1": 1, "KEEPALIVE=2": 1})
    assert not [*limits_words(others, [*others], {"SERVER_CPUS": "0"})]
    _, quotas = swept({"CPU_QUOTA=0.5": 1, "CPU_QUOTA=1": 1})
    assert [*limits_words(quotas, [*quotas], {"SERVER_CPUS": "1"})] == [
        "The server has 1 CPU here: a quota of as much or more limits nothing."
    ]
    assert not [*limits_words(quotas, [*quotas], {})]
