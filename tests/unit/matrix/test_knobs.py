"""Knobs: their allowed values, which services read them, and services with varied values."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from captured import refused
from make_plans import MATRIX, composed
from places import ROOT
from tables import cases, rows

from bench.core.errors import UserError
from bench.matrix.knobs import LONGEST_NAME, Knob, check_quotas, parse_knob, reader, started_with, varied
from bench.matrix.model import Service

SERVICES = {service.name: service for service in MATRIX.services}
READS = reader(ROOT / "services")


def service(stack: str, python: str = "313", base: str = "debian") -> Service:
    return SERVICES[f"{stack}-py{python}-{base}"]


def servers_that_read(knob: str) -> set[str]:
    here = [s for s in MATRIX.services if s.name.endswith("-py313-debian")]
    return {s.server.name for s in here if READS(s, knob) is None}


def test_a_knob_has_a_name_and_values() -> None:
    assert parse_knob("THREADS=2,4,16") == Knob("THREADS", ("2", "4", "16"))
    assert parse_knob("CPU_QUOTA=0.5,1,2").values == ("0.5", "1", "2")
    assert parse_knob("MY_FLAG=on,off").values == ("on", "off")


@pytest.mark.parametrize(
    ("text", "words"),
    [*cases(dict(rows(__file__, "bad_knobs"))), (f"WORKERS={','.join(map(str, range(1, 70)))}", "the limit is 64")],
)
def test_a_bad_value_is_refused_in_one_line(text: str, words: str) -> None:
    fault = str(refused(UserError, parse_knob, text))
    assert words in fault and "\n" not in fault


def test_which_servers_read_a_knob_follows_from_their_files() -> None:
    everybody = {s.server.name for s in MATRIX.services}
    pools = {"gunicorn-gthread", "granian-wsgi", "waitress", "cheroot", "cherrypy", "uwsgi"}
    assert servers_that_read("THREADS") == pools | {"uwsgi-http-socket", "granian-wsgi-one-thread"}
    for knob in ("WORKERS", "BACKLOG", "CPU_QUOTA", "MEMORY", "PYTHONHASHSEED", "MALLOC_ARENA_MAX"):
        assert servers_that_read(knob) == everybody, knob
    assert {"gunicorn-gthread", "gunicorn-gevent", "uvicorn"} <= servers_that_read("KEEPALIVE") < everybody
    watched = {name for name, one in MATRIX.servers.items() if not one.defaults["timeout"].value.startswith("none")}
    assert servers_that_read("TIMEOUT") == watched | {"uwsgi", "uwsgi-http-socket"}
    assert {"granian-asgi", "aiohttp", "cherrypy", "sanic", "hypercorn"} <= servers_that_read("GRACEFUL") < everybody
    assert servers_that_read("GRANIAN_BACKPRESSURE") == {n for n in MATRIX.servers if n.startswith("granian-")}
    assert servers_that_read("NOBODY_READS_THIS") == set()


def test_what_a_server_is_started_with() -> None:
    def given(one: Service, name: str) -> str | None:
        return started_with(one, name, {"BACKLOG": "512"}, ROOT / "services")

    gthread = service("gunicorn-gthread-wsgi")
    assert [given(gthread, name) for name in ("TIMEOUT", "KEEPALIVE", "BACKLOG")] == [None, "5", "512"]
    made = varied(gthread, (("TIMEOUT", "7"), ("KEEPALIVE", "75")))
    assert [given(made, name) for name in ("TIMEOUT", "KEEPALIVE", "GRACEFUL")] == ["7", "75", None]
    assert given(service("cheroot-wsgi"), "GRACEFUL") == "5"
    assert given(service("proxy-py"), "KEEPALIVE") == "75"


def test_where_a_start_has_another_value_than_the_servers_own() -> None:
    other = {
        s.server.name
        for s in MATRIX.usual
        for kind, default in s.server.defaults.items()
        if (given := started_with(s, kind.upper(), {}, ROOT / "services"))
        and f"{given} s" != default.value.replace(",", "")
    }
    gunicorn = {name for name in MATRIX.servers if name.startswith("gunicorn-")}
    assert other == gunicorn - {"gunicorn-sync", "gunicorn-tornado"} | {"proxy-py", "uwsgi"}


def test_an_apps_own_variable_is_a_knob_of_its_services_alone() -> None:
    whole = MATRIX.with_selftests(["uvicorn-synthetic"])
    synthetic = next(s for s in whole.services if s.stack == "uvicorn-synthetic")
    assert READS(synthetic, "SLOWER_US") is None
    assert READS(service("uvicorn-asgi"), "SLOWER_US") == "neither uvicorn nor its app reads SLOWER_US"


def test_a_variable_in_a_comment_or_a_fact_is_not_read(tmp_path: Path) -> None:
    for name, text in (("said", "# THREADS=4 would be nice\nexec x\n"), ("read", 'exec x --threads "${THREADS:-4}"\n')):
        (tmp_path / "servers" / name).mkdir(parents=True)
        (tmp_path / "servers" / name / "start").write_text(text)
        (tmp_path / "servers" / name / "server.toml").write_text('lacks = "what ${THREADS} sets"\n')
    one = service("uvicorn-asgi")
    found = {n: reader(tmp_path)(replace(one, server=replace(one.server, name=n)), "THREADS") for n in ("said", "read")}
    assert found == {"said": "neither said nor its app reads THREADS", "read": None}


PREVAILING = {
    "--loop": ["UVICORN_LOOP", "GRANIAN_LOOP"],
    "--no-access-log": ["UVICORN_ACCESS_LOG"],
    "--timeout-keep-alive": ["UVICORN_TIMEOUT_KEEP_ALIVE"],
    "--http": ["GRANIAN_HTTP"],
    # start adds the flag of the first only if GRACEFUL is set.
    "": ["UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN", "UVICORN_LIMIT_CONCURRENCY", "GRANIAN_RUNTIME_THREADS"],
}


@pytest.mark.parametrize(("knob", "flag"), cases(PREVAILING))
def test_a_variable_that_a_flag_of_start_prevails_over_is_no_knob(knob: str, flag: str) -> None:
    one = service("uvicorn-asgi" if knob.startswith("UVICORN") else "granian-asgi-asgi")
    assert READS(one, knob) == (f"{one.server.name} is started with {flag}, which prevails over it" if flag else None)


def test_no_flag_of_a_start_has_a_variable_beside_it_as_a_knob() -> None:
    """Otherwise both sides would be the same process."""
    for server in (server for server in MATRIX.servers.values() if "_*" in "".join(server.reads)):
        start = (ROOT / "services/servers" / server.name / "start").read_text()
        one = next(s for s in MATRIX.services if s.server.name == server.name and s.name.endswith("-py313-debian"))
        always = re.sub(r"(?m)^\s*#.*|\$\{\w+:\+[^}]*\}", "", start)
        flags = {flag.removeprefix("no-") for flag in re.findall(r"\s--([a-z0-9-]+)", always)}
        assert len(flags) > 6
        for flag in flags:
            knob = server.reads[0].replace("*", flag.upper().replace("-", "_"))
            assert READS(one, knob) is not None, knob


def test_the_jit_is_read_by_new_cpython_alone() -> None:
    assert READS(service("aiohttp"), "PYTHON_JIT") is None
    for old in (service("aiohttp", "311"), SERVICES["gunicorn-sync-wsgi-pypy311-debian"]):
        assert "from 3.13 on" in str(READS(old, "PYTHON_JIT"))


def test_settings_are_in_the_name_and_the_image_is_the_plain_ones() -> None:
    made = varied(service("gunicorn-gthread-flask"), (("WORKERS", "2"), ("CPU_QUOTA", "0.5")))
    assert made.name == "gunicorn-gthread-flask-py313-debian-workers2-cpu-quota0-5"
    assert made.image == "bench/gunicorn-gthread-flask-py313-debian"
    assert made.settings.text == "WORKERS=2 CPU_QUOTA=0.5"


def test_names_are_host_names_and_differ_where_values_do() -> None:
    one = service("gunicorn-aiohttp-uvloop-aiohttp")
    values = ["a", "A", "a.b", "a-b", "a_b", "a:b", "-a", "x" * 60, "x" * 59 + "y"]
    names = [varied(one, (("MY_FLAG", value), ("OTHER_FLAG", "1"))).name for value in values]
    assert len(set(names)) == len(values)
    assert all(len(name) <= LONGEST_NAME and name == name.lower() and name.strip("-") == name for name in names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)


def test_one_thread_is_not_concurrent() -> None:
    gthread, uvicorn = service("gunicorn-gthread-flask"), service("uvicorn-asgi")
    assert gthread.concurrent and not varied(gthread, (("THREADS", "1"),)).concurrent
    assert varied(gthread, (("THREADS", "2"),)).concurrent
    assert varied(uvicorn, (("THREADS", "1"),)).concurrent


def test_a_runs_file_has_the_plain_service_once_and_settings_by_their_kind() -> None:
    plain = service("gunicorn-gthread-flask")
    both = [varied(plain, (("THREADS", n), ("CPU_QUOTA", "0.5"), ("MEMORY", "256m"))) for n in ("1", "8")]
    made = composed(MATRIX, both)
    assert set(made) == {plain.name, *(one.name for one in both)}
    assert "build" in made[plain.name] and "environment" not in made[plain.name]
    for number, one in zip(("1", "8"), both, strict=True):
        own = made[one.name]
        assert "build" not in own and own["image"] == plain.image and own["pull_policy"] == "never"
        assert own["environment"] == {"THREADS": number}
        assert (own["cpus"], own["mem_limit"]) == ("0.5", "256m")


def test_an_apps_own_environment_stays_unless_it_is_varied() -> None:
    whole = MATRIX.with_selftests(["uvicorn-synthetic-slower-20us"])
    slow = next(s for s in whole.services if s.stack == "uvicorn-synthetic-slower-20us")
    made = [varied(slow, (("WORKERS", "2"),)), varied(slow, (("SLOWER_US", "7"),))]
    found = composed(whole, made)
    assert found[made[0].name]["environment"] == {"SLOWER_US": "20", "WORKERS": "2"}
    assert found[made[1].name]["environment"] == {"SLOWER_US": "7"}


def test_a_quota_of_more_cpus_than_the_machine_has_is_refused() -> None:
    check_quotas([parse_knob("CPU_QUOTA=0.5,2"), parse_knob("WORKERS=64")], 2)
    with pytest.raises(UserError, match="this machine has 2 CPUs, which is less than 4"):
        check_quotas([parse_knob("CPU_QUOTA=1,4")], 2)
