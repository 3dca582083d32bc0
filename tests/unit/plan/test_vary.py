"""Settings as an axis of a plan: services, tables, lines and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.knobs import parse_knob, reader
from bench.matrix.load import load_matrix
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.measurement import Measurement, measurement_of, settings_of
from bench.plan.order import measurements
from bench.plan.selection import Selection
from bench.plan.variants import Variant
from bench.run.writer import host_json, service_facts

MATRIX = load_matrix(ROOT / "services/matrix.toml")
READS = reader(ROOT / "services")
GTHREAD = "gunicorn-gthread-flask"


def plan(*vary: str, cpus: str = "0", **wanted: Any) -> Plan:
    knobs = tuple(map(parse_knob, vary))
    settings = {"WORKER_CLASS": "sync", "SERVER_CPUS": cpus}
    here = Variant(matrix=MATRIX, settings=settings, reads=READS)
    wanted["vary"] = knobs
    return make_plan(MATRIX, Selection(**wanted), settings, lambda one: one.base == "debian", variants=[here])


def settings(made: Plan) -> list[str | None]:
    return [service.settings_text for service in made.services]


def test_every_combination_is_a_service_of_one_table() -> None:
    made = plan("WORKERS=1,2", "THREADS=2,4,16", stacks=(GTHREAD,), scenarios=("delay-20",))
    assert settings(made) == [f"WORKERS={w} THREADS={t}" for w in (1, 2) for t in (2, 4, 16)]
    (table,) = made.tables
    assert len(table.cells) == 6
    assert made.preset.title == (
        "gunicorn-gthread-flask (Python 3.13, debian) with WORKERS=1 THREADS=2, WORKERS=1 THREADS=4,"
        " WORKERS=1 THREADS=16 and 3 others: delay-20"
    )


def test_a_line_of_the_plan_has_the_settings_and_reads_back() -> None:
    lines = measurements(plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("delay-20",)), seed=1)
    assert {line.settings for line in lines if line.mode == "turns"} == {"THREADS=1", "THREADS=8"}
    for line in lines:
        assert measurement_of(json.loads(line.to_line())) == line
    assert settings_of("WORKERS=2 THREADS=4") == {"WORKERS": "2", "THREADS": "4"}


def test_lines_without_settings_are_as_they_were() -> None:
    lines = measurements(plan(stacks=(GTHREAD,)), seed=1)
    assert all(isinstance(line, Measurement) and "settings" not in json.loads(line.to_line()) for line in lines)


def test_what_only_some_read_leaves_the_others_out_with_a_line() -> None:
    made = plan("THREADS=1,8", stacks=(GTHREAD, "gunicorn-sync-flask"), scenarios=("json",))
    assert {service.stack for service in made.services} == {GTHREAD}
    (skip,) = made.skips
    assert skip.service == "gunicorn-sync-flask-py313-debian"
    assert skip.cause == "neither gunicorn-sync nor its app reads THREADS"


def test_what_none_reads_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(UserError, match=r"no server of the selection reads it; those that do: .*gunicorn-gthread"):
        plan("THREADS=1,8", stacks=("uvicorn-asgi", "aiohttp"))
    with pytest.raises(UserError, match="no server of the selection reads it; nor does any other"):
        plan("NOBODY=1,8", stacks=("uvicorn-asgi",))


def test_a_knob_twice_and_too_many_combinations_are_errors() -> None:
    with pytest.raises(UserError, match="--vary THREADS is given twice"):
        plan("THREADS=1", "THREADS=8", stacks=(GTHREAD,))
    with pytest.raises(UserError, match="100 combinations"):
        ten = ",".join(map(str, range(1, 11)))
        plan(f"THREADS={ten}", f"WORKERS={ten}", stacks=(GTHREAD,))


def test_a_published_comparison_is_not_put_beside_services_of_one_stack() -> None:
    assert plan(preset="sync-vs-gevent").preset.published == "sync-vs-gevent"
    assert plan("WORKERS=1,4", preset="sync-vs-gevent").preset.published is None


def test_without_a_selection_the_quick_preset_is_varied() -> None:
    made = plan("WORKERS=1,2")
    assert made.preset.name == "quick"
    assert len(made.services) == 16


def test_quotas_are_judged_by_goodput_in_longer_turns() -> None:
    quotas = plan("CPU_QUOTA=0.5,1", stacks=(GTHREAD,), scenarios=("json",))
    (table,) = quotas.tables
    assert table.waits and table.turn_s == 1.0
    lines = [line for line in measurements(quotas, 1) if line.mode == "turns"]
    assert {(line.turn_s, line.duration_s) for line in lines} == {(1.0, 2.0)}
    (of_eight,) = plan("CPU_QUOTA=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8", stacks=(GTHREAD,), scenarios=("json",)).tables
    assert 8 * of_eight.turn_s <= 4.0


def test_workers_are_judged_by_goodput_where_they_could_use_more_cpus() -> None:
    one, two = (
        plan("WORKERS=1,2", cpus=cpus, stacks=(GTHREAD,), scenarios=("json",)).tables[0] for cpus in ("0", "0-1")
    )
    assert (one.waits, two.waits) == (False, True)
    (same,) = plan("WORKERS=2", "KEEPALIVE=2,5", cpus="0-1", stacks=(GTHREAD,), scenarios=("json",)).tables
    assert not same.waits


def test_the_preset_workers_varies_threads_where_they_are_read() -> None:
    made = plan(preset="workers")
    assert [text for text in settings(made) if text and "THREADS" not in text] == [f"WORKERS={n}" for n in (1, 2, 4)]
    assert len(made.services) == 12 and not made.skips
    fastapi = plan(preset="workers", frameworks=("fastapi",), servers=("uvicorn",))
    assert settings(fastapi) == [f"WORKERS={n}" for n in (1, 2, 4)]
    narrowed = plan("WORKERS=1,8", preset="workers")
    assert set(settings(narrowed)) == {"WORKERS=1", "WORKERS=8"}


def test_the_loop_knows_whose_image_a_service_runs_and_its_settings() -> None:
    made = plan("THREADS=1,8", stacks=(GTHREAD,), scenarios=("json",))
    routes = {service.name: ["json"] for service in made.services}
    facts = service_facts(MATRIX, {"PYTHON_IMAGE": "python"}, made.services, routes)
    assert [facts[s.name]["concurrent"] for s in made.services] == [False, True]
    services = json.loads(host_json(facts))["services"]
    name = "gunicorn-gthread-flask-py313-debian"
    assert [services[f"{name}-threads{n}"]["build"] for n in (1, 8)] == [name, name]
    assert services[f"{name}-threads1"]["settings"] == "THREADS=1"
