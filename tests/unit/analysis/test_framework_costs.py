"""What frameworks cost beside the bare app, from windows to the table."""

from pathlib import Path

import pytest

from bench.analysis.framework_costs import Cost, Window, costs, outliers, reordered, table
from bench.cli.profile import profile_compose_verb, profile_services_verb, profile_table_verb
from bench.core.errors import UserError

WRK = """Running 1s test @ http://svc:8080/json
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.10ms   5.00ms   90.00%
    Req/Sec     1.00k     0.10k    2.00k    80.00%
  {requests} requests in 1.00s, 1.00MB read
{bad}Requests/sec:   1000.00
Transfer/sec:      1.00MB
"""


def test_a_share_compares_windows_of_the_same_round() -> None:
    windows = [
        Window("bare", "/json", 1, 10_000),
        Window("bare", "/json", 2, 20_000),
        Window("own", "/json", 1, 20_000),
        Window("own", "/json", 2, 50_000),
        Window("own", "/json", 3, None),
        Window("alone", "/json", 1, 7_000),
    ]
    found = costs(windows, {"own": "bare"})
    assert found["own", "/json"] == Cost(us=35, share=2.25)
    assert found["bare", "/json"].share is found["alone", "/json"].share is None


def test_twice_the_median_of_its_kind_needs_an_explanation() -> None:
    shares = {"a": 1.1, "b": 1.2, "c": 2.5, "d": 9.0}
    found = {(name, "/json"): Cost(1, share) for name, share in shares.items()}
    kinds = {"a": "sync", "b": "sync", "c": "sync", "d": "async"}
    assert outliers(found, kinds) == {("c", "/json"): 1.2}


def test_an_order_that_differs_between_raw_and_orm_is_named() -> None:
    orders = {"/raw/db": "abcd", "/orm/db": "bcda"}
    found = {(name, route): Cost(place, None) for route, order in orders.items() for place, name in enumerate(order)}
    assert reordered(found, dict.fromkeys("abcd", "sync"), "/raw/db", "/orm/db") == ["a"]


def test_the_bare_app_has_times_and_the_others_shares() -> None:
    found = {("bare", "/json"): Cost(43.21, None), ("own", "/json"): Cost(90, 2.084), ("own", "/db"): Cost(9, 3)}
    lines = table(found, [["bare", "own"]], ["/json", "/db"], [("own", "/db")]).splitlines()
    assert lines == [
        "| service | `/json` | `/db` |",
        "|---|---|---|",
        "| bare | 43 µs | - |",
        "| own | 2.08 | **3.00** |",
    ]


def test_a_table_of_what_the_script_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def window(service: str, requests: int, cpu_ns: int, bad: str = "", route: int = 0) -> None:
        folder = tmp_path / service
        folder.mkdir(exist_ok=True)
        (folder / f"{route}.1.wrk").write_text(WRK.format(requests=requests, bad=bad))
        (folder / f"{route}.1.before").write_text("cgroup v1\ncpu_usage_ns 1000\n")
        (folder / f"{route}.1.after").write_text(f"cgroup v1\ncpu_usage_ns {1000 + cpu_ns}\npids 1 2\n")

    window("uvicorn-asgi-py313-debian", 1000, 20_000_000)
    window("uvicorn-starlette-py313-debian", 1000, 26_000_000)
    window("uvicorn-starlette-py313-debian", 1000, 9_000_000, "  Non-2xx or 3xx responses: 3\n", route=1)
    window("aiohttp-py313-debian", 1000, 50_000_000)
    assert profile_table_verb([str(tmp_path), "/json", "/raw/db"]) == 0
    assert capsys.readouterr().out.splitlines()[:5] == [
        "| service | `/json` | `/raw/db` |",
        "|---|---|---|",
        "| uvicorn-asgi-py313-debian | 20 µs | - |",
        "| uvicorn-starlette-py313-debian | 1.30 | - |",
        "| aiohttp-py313-debian | 50 µs | - |",
    ]


def test_the_services_of_a_server_with_the_bare_app_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile_services_verb(["3.13", "uvicorn", "aiohttp"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("uvicorn-asgi-py313-debian uvicorn-")
    assert second == "aiohttp-py313-debian"
    assert profile_compose_verb(["uvicorn-quart-py313-debian"]) == 0
    assert "  uvicorn-quart-py313-debian:" in capsys.readouterr().out
    with pytest.raises(UserError, match="nginx-flask"):
        profile_compose_verb(["nginx-flask"])
    with pytest.raises(UserError, match="no service of server 'nginx'"):
        profile_services_verb(["3.13", "nginx"])
