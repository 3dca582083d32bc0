"""What scripts/profile.sh --table calls: services in groups, and the tables of what was saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from cost_files import calls, save, write

from bench.cli.profile_costs import profile_compose_verb, profile_services_verb, profile_table_verb
from bench.core.errors import UserError

BARE, FRAMEWORK = "uvicorn-asgi-py313-debian", "uvicorn-starlette-py313-debian"


def test_the_tables_of_what_the_script_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / BARE, "json.1", 1000, 20_000_000)
    save(tmp_path / FRAMEWORK, "json.1", 1000, 26_000_000)
    save(tmp_path / FRAMEWORK, "raw-db.1", 1000, 9_000_000, "  Non-2xx or 3xx responses: 3\n")
    save(tmp_path / "aiohttp-py313-debian", "json.1", 1000, 50_000_000)
    # It has no /raw/db, so that this is no wrong answer.
    save(tmp_path / "proxy-py-py313-debian", "raw-db.1", 1000, 9_000_000, "  Non-2xx or 3xx responses: 1000\n")
    for service, cpu_ns in ((BARE, 20_000), (FRAMEWORK, 50_000)):
        write(tmp_path / service / "1.in-process", calls(None, cpu_ns=10_000), calls(cpu_ns=cpu_ns))
    assert profile_table_verb([str(tmp_path), "/json", "/raw/db"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Under the server",
        "",
        "uvicorn, 1 round:",
        "",
        "|  | `/json` | `/raw/db` |",
        "|---|---:|---:|",
        "| asgi | 20 µs | - |",
        "| starlette | 1.30 | - |",
        "",
        "own servers, async, 1 round:",
        "",
        "|  | `/json` | `/raw/db` |",
        "|---|---:|---:|",
        "| aiohttp | 50 µs | - |",
        "",
        f"- {FRAMEWORK} /raw/db, round 1: wrong answers, so no figure",
        "",
        "In process",
        "",
        "uvicorn, 1 round:",
        "",
        "|  | `/json` | `/raw/db` |",
        "|---|---:|---:|",
        "| asgi | 1.0 µs | - |",
        "| starlette | 4.00 | - |",
        "",
        "No interface to call in process: aiohttp, proxy-py",
    ]


def test_the_services_of_servers_in_groups_with_the_bare_app_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile_services_verb(["3.13", "uvicorn", "aiohttp", "cherrypy", "granian-rsgi", "gunicorn-sync"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("uvicorn-asgi-py313-debian=asgi uvicorn-")
    assert lines[1].startswith("gunicorn-sync-wsgi-py313-debian=wsgi gunicorn-sync-")
    assert lines[2] == "granian-rsgi-rsgi-py313-debian=rsgi aiohttp-py313-debian=aiohttp"
    assert lines[3] == "cherrypy-py313-debian=cherrypy"


def test_a_compose_file_of_some_services(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile_compose_verb(["uvicorn-quart-py313-debian"]) == 0
    assert "  uvicorn-quart-py313-debian:" in capsys.readouterr().out


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="nginx-flask"):
        profile_compose_verb(["nginx-flask"])
    with pytest.raises(UserError, match="no service of server 'nginx'"):
        profile_services_verb(["3.13", "nginx"])
