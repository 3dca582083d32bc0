"""The Compose files and lists that are generated from the matrix."""

from __future__ import annotations

import re

from make_plans import MATRIX
from places import ROOT

from bench.cli.names import names_file
from bench.matrix.bases import bases_file
from bench.matrix.catalogue import catalogue_file
from bench.matrix.compose import bench_file, compose_file, run_services


def test_generated_files_are_in_step() -> None:
    assert (ROOT / "docs/catalogue.md").read_text() == catalogue_file(MATRIX)
    assert (ROOT / "services/compose.yml").read_text() == compose_file(MATRIX)
    assert (ROOT / "services/bench.yml").read_text() == bench_file(MATRIX)
    assert (ROOT / "services/bases.tsv").read_text() == bases_file(MATRIX)
    assert (ROOT / "services/names.tsv").read_text() == names_file(MATRIX)


SERVICE = re.compile(r"^  ([a-z0-9-]+):$", re.MULTILINE)


def test_every_service_that_is_not_skipped_is_in_the_compose_file_and_no_other() -> None:
    wanted = [s.name for s in MATRIX.services if not s.skip]
    found = SERVICE.findall(compose_file(MATRIX))
    assert len(found) == len(set(found))
    assert set(found) == {*wanted, "gunicorn-worker-flask-py313-debian", "bench"}
    for base in MATRIX.bases:
        assert sum(name.endswith(f"-{base}") for name in wanted) >= 400


def test_bench_reads_its_own_services_alone() -> None:
    found = SERVICE.findall(bench_file(MATRIX))
    assert len(found) == 8 + 1 and "gunicorn-sync-flask-py313-debian" not in found
    assert "profiles" not in bench_file(MATRIX)


def test_a_runs_file_holds_what_the_bench_file_does_not() -> None:
    wanted = [s for s in MATRIX.services if s.python in ("3.13", "3.14") and s.base == "debian"]
    run = SERVICE.findall(run_services(MATRIX, wanted))
    bench = set(SERVICE.findall(bench_file(MATRIX)))
    assert not bench & set(run) and {s.name for s in wanted} <= bench | set(run)


def test_bases_are_made_where_a_release_has_the_python_and_listed_everywhere() -> None:
    lines = [line.split("\t") for line in bases_file(MATRIX).splitlines() if not line.startswith("#")]
    how = {f"{image}:{tag}": (suite, interpreter) for image, tag, suite, interpreter in lines}
    assert how["python:3.9-slim"] == ("bullseye", "python3.9")
    assert how["python:3.15-slim"] == ("forky", "python3.15")
    assert how["pypy:3.11-slim"] == ("trixie", "pypy3")
    assert how["python:3.12-slim"] == how["python:3.13-alpine"] == ("-", "-")
    assert "pypy:3.11-alpine" not in how
