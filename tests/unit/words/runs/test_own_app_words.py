"""What the report of a user's own app begins with: from the ranking's verdicts, and never more than these say."""

from dataclasses import replace
from typing import Any

from turns_runs import ranking_of, service_of

from bench.analysis.services import price_of
from bench.records.record import Cause
from bench.render.tables.own_app import own_app_tables
from bench.run.reader import ServiceFacts
from bench.words.setup import own_app_answers, request_words

TARGETS = [
    {"scenario": "page", "request": "GET /", "weight": 3},
    {"scenario": "order", "request": "POST /orders", "weight": 1},
]
STACKS = ("uvicorn-asgi", "aiohttp", "tornado")


def facts(**own: Any) -> dict[str, Any]:
    services = {
        service_of(stack): {"server": stack, "model": f"how {stack} works", "python": "3.13"} for stack in STACKS
    }
    app = {"name": "shop", "app": "main:app", "targets": TARGETS, **own}
    return {"own_app": app, "services": services, "knobs": {"WORKERS": "2"}}


def test_a_clear_winner_is_named_with_all_that_it_is() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 1500, "tornado": 900}, 6, waits=True)
    [(requests, answer)] = own_app_answers(facts(), [ranking])
    assert requests == "GET / (75 %), POST /orders (25 %)"
    assert answer.startswith("run it on uvicorn-asgi (how uvicorn-asgi works) with 2 workers on Python 3.13: ")
    assert "requests/s" in answer and "µs of CPU per request" in answer and "requests/s per core" in answer
    assert "apart" not in answer


def test_what_cannot_be_told_apart_from_the_best_is_named_too() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 2995, "tornado": 900}, 4, waits=True)
    [(_, answer)] = own_app_answers(facts(), [ranking])
    first, _, rest = answer.partition(" apart; the best figures are those of ")
    assert first.startswith("these rounds do not tell ") and "tornado" not in answer
    assert "uvicorn-asgi" in first and "aiohttp" in first and rest.partition(" ")[0] in ("uvicorn-asgi", "aiohttp")


def test_a_server_of_a_lower_tier_that_may_be_the_best_is_named_too() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 1500, "tornado": 900}, 6, waits=True)
    last = service_of("tornado")
    contrasts = [
        replace(one, verdict="not enough data") if {one.a, one.b} == {service_of("uvicorn-asgi"), last} else one
        for one in ranking.contrasts
    ]
    [(_, answer)] = own_app_answers(facts(), [replace(ranking, contrasts=tuple(contrasts))])
    assert answer.startswith("these rounds do not tell uvicorn-asgi and tornado apart; ")


def test_too_few_rounds_name_no_server() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 2, waits=True)
    assert own_app_answers(facts(), [ranking]) == [
        ("GET / (75 %), POST /orders (25 %)", "no server can be named yet: too few rounds were measured.")
    ]


def test_the_only_server_that_can_be_measured_has_its_figures_and_the_others_their_causes() -> None:
    wrong = {"causes": [Cause("errors", "40 of 400 | got 500")]}
    for lost in ("uvicorn-asgi", "aiohttp"):
        [left] = {"uvicorn-asgi", "aiohttp"} - {lost}
        ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 6, waits=True, changes={lost: wrong})
        [(_, answer)] = own_app_answers(facts(), [ranking])
        assert answer.startswith(f"only {left} (how {left} works) with 2 workers on Python 3.13 has figures that ")
        assert " requests/s; " in answer
        assert answer.endswith(f"requests/s per core. Without figures: {lost} (errors: 40 of 400 | got 500).")


def test_where_no_server_can_be_measured_the_first_cause_is_said() -> None:
    wrong = {"causes": [Cause("errors", "40 of 400 | got 500")]}
    changes = dict.fromkeys(("uvicorn-asgi", "aiohttp"), wrong)
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 6, waits=True, changes=changes)
    [(_, answer)] = own_app_answers(facts(), [ranking])
    assert answer == "no server has a figure: errors: 40 of 400 | got 500."


def test_servers_that_were_never_in_one_window_have_no_best() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 6, waits=True)
    first, second = ranking.rows
    apart = replace(ranking, rows=(first, replace(second, rank=None)), contrasts=())
    [(_, answer)] = own_app_answers(facts(), [apart])
    assert answer == "no server can be named: no two of uvicorn-asgi and aiohttp were ever measured in one window."


def test_a_run_of_the_matrix_has_none() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 900}, 6)
    assert own_app_answers({}, [ranking]) == []
    assert own_app_tables({}, [ranking], [], {}) == []


def test_one_target_by_itself_is_named_by_its_request() -> None:
    assert request_words(facts()["own_app"], "order") == "POST /orders"


def test_a_row_has_what_a_million_requests_cost() -> None:
    ranking = ranking_of({"uvicorn-asgi": 3000, "aiohttp": 1500, "tornado": 900}, 6, waits=True)
    service = ServiceFacts(name=service_of("aiohttp"), start_s=0.51)
    [plain] = own_app_tables(facts(), [ranking], [], {service.name: service})
    [priced] = own_app_tables(facts(cpu_hour_price=0.36), [ranking], [], {})
    assert [row[1] for row in plain.rows] == ["uvicorn-asgi", "aiohttp", "tornado"]
    assert [row[-1] for row in plain.rows] == ["–", "0.510 s", "–"]
    assert len(priced.columns) == len(plain.columns) + 1 == len(priced.rows[0])
    # 100 µs a request are 100 CPU seconds a million, of 3600 at 0.36.
    price = price_of({"cpu_hour_price": 0.36}, 100)
    assert price is not None and abs(price - 0.01) < 1e-12
    assert price_of({}, 100) is None
