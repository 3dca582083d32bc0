"""The table of a user's own app."""

from typing import Any

from turns_runs import ranking_of, service_of

from bench.analysis.services import price_of
from bench.render.in_turns import own_app_tables
from bench.run.reader import ServiceFacts

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
    assert own_app_tables({}, [ranking], [], {}) == []
