"""The one list: what follows from it, and what is said when it is not one."""

from __future__ import annotations

import ast
import itertools
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix import musl
from bench.matrix.bases import bases_file
from bench.matrix.catalogue import catalogue_file
from bench.matrix.compose import bench_file, compose_file, run_services
from bench.matrix.load import load_matrix
from bench.matrix.model import NAME, python_image, python_label
from bench.matrix.settings import SETTINGS, read_env, read_settings
from bench.plan.selection import TOOLS

MATRIX = load_matrix(ROOT / "services/matrix.toml")
FIRST_STACKS = [
    *("aiohttp", "gunicorn-aiohttp-aiohttp", "proxy-py", "uvicorn-blacksheep", "tornado", "werkzeug-flask"),
    *("gunicorn-sync-flask", "gunicorn-gevent-flask", "bjoern-wsgi", "bjoern-hug", "cherrypy"),
    *("gunicorn-sync-wsgi", "uvicorn-asgi", "uvicorn-starlette"),
]


def raw() -> dict[str, Any]:
    return tomllib.loads((ROOT / "services/matrix.toml").read_text())


@pytest.mark.parametrize("stack", FIRST_STACKS)
@pytest.mark.parametrize("python", ["3.11", "3.13", "3.14"])
def test_first_stacks_are_served_on_every_python(stack: str, python: str) -> None:
    name = f"{stack}-py{python.replace('.', '')}-debian"
    found = [s for s in MATRIX.services if s.name == name]
    assert len(found) == 1
    assert found[0].skip is None


def test_names_are_unique_and_fit_dns() -> None:
    names = [s.name for s in MATRIX.services]
    assert len(names) == len(set(names))
    assert all(len(name) <= 63 and NAME.match(name) for name in names)


def test_stacks_come_from_interfaces_alone() -> None:
    for service in MATRIX.services:
        assert service.interface in service.framework.interfaces
        assert service.interface in service.server.serves
    assert not [s for s in MATRIX.services if s.stack == "uvicorn-flask"]


def test_a_framework_of_two_interfaces_has_the_servers_of_both_each_once() -> None:
    hosts = {s.stack: s.interface for s in MATRIX.services if s.framework.name == "sanic" and s.python == "3.13"}
    assert hosts["sanic"] == "sanic"
    assert hosts["uvicorn-sanic"] == "asgi"
    assert hosts.keys() - {"sanic"} == {
        f"{server.name}-sanic" for server in MATRIX.servers.values() if "asgi" in server.serves
    }


def test_every_server_and_framework_has_its_folder_and_the_reverse() -> None:
    for kind, names, files in (
        ("servers", MATRIX.servers, {"start", "requirements.txt"}),
        (
            "frameworks",
            {*MATRIX.frameworks, *(f.folder for f in MATRIX.selftests.values())},
            {"app.py", "requirements.txt"},
        ),
    ):
        folders = {p.name: {f.name for f in p.iterdir()} for p in (ROOT / "services" / kind).iterdir() if p.is_dir()}
        assert folders.keys() == set(names)
        for name, held in folders.items():
            assert files <= held, name


def test_every_lock_is_there_and_names_what_it_locks() -> None:
    folders = {python_label(python): python for python in MATRIX.pythons}
    assert {p.name for p in (ROOT / "services/locks").iterdir()} == folders.keys()
    for label, python in folders.items():
        folder = ROOT / "services/locks" / label
        servers, frameworks, packages = MATRIX.needs(python)
        wanted = {f"server-{n}.txt" for n in servers} | {f"framework-{n}.txt" for n in frameworks}
        wanted |= {"common-sync.txt", "common-async.txt"} | {f"package-{p}.txt" for p in packages}
        on_alpine = any((s.python, s.base) == (python, "alpine") and not s.skip for s in MATRIX.services)
        wanted |= {musl.NAME} if on_alpine else set()
        assert {p.name for p in folder.glob("*.txt")} == wanted
        for lock in folder.glob("*-*.txt"):
            lines = [line for line in lock.read_text().splitlines() if line.strip() and not line.startswith((" ", "#"))]
            assert all("==" in line.partition(";")[0] for line in lines), lock
            assert lock.read_text().count("--hash=sha256:") >= len(lines), lock


def test_a_lock_holds_every_requirement() -> None:
    name = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)")
    for kind in ("server", "framework"):
        for path in (ROOT / f"services/{kind}s").glob("*/requirements.txt"):
            lines = [line for line in path.read_text().splitlines() if line and line[0].isalnum()]
            for line in lines:
                requirement = name.match(line)
                assert requirement, line
                wanted = re.sub(r"[-_.]+", "-", requirement[1]).lower()
                for python in MATRIX.pythons if ";" not in line else ():
                    needed = MATRIX.needs(python)[0 if kind == "server" else 1]
                    if path.parent.name not in needed:
                        continue
                    lock = ROOT / f"services/locks/{python_label(python)}/{kind}-{path.parent.name}.txt"
                    pinned = [
                        re.sub(r"[-_.]+", "-", p.partition("==")[0]).lower() for p in lock.read_text().splitlines()
                    ]
                    assert wanted in pinned, f"{path.parent.name} on {python}: run scripts/lock.sh"


def test_generated_files_are_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert (ROOT / "docs/catalogue.md").read_text() == catalogue_file(MATRIX)
    assert (ROOT / "services/compose.yml").read_text() == compose_file(MATRIX)
    assert (ROOT / "services/bench.yml").read_text() == bench_file(MATRIX)
    assert (ROOT / "services/bases.tsv").read_text() == bases_file(MATRIX)


SERVICE = re.compile(r"^  ([a-z0-9-]+):$", re.MULTILINE)


def test_every_service_that_is_not_skipped_is_in_the_compose_file_and_no_other() -> None:
    wanted = [s.name for s in MATRIX.services if not s.skip]
    found = SERVICE.findall(compose_file(MATRIX))
    assert len(found) == len(set(found))
    assert set(found) == {*wanted, "gunicorn-worker-flask-py313-debian", "twin", "bench"}
    for base in MATRIX.bases:
        assert sum(name.endswith(f"-{base}") for name in wanted) >= 400


def test_bench_reads_its_own_services_alone() -> None:
    found = SERVICE.findall(bench_file(MATRIX))
    assert len(found) == 8 + 2
    assert "gunicorn-sync-flask-py313-debian" not in found
    assert "profiles" not in bench_file(MATRIX)


def test_a_runs_file_holds_what_the_bench_file_does_not() -> None:
    wanted = [s for s in MATRIX.services if s.python in ("3.13", "3.14") and s.base == "debian"]
    run = SERVICE.findall(run_services(MATRIX, wanted))
    bench = set(SERVICE.findall(bench_file(MATRIX)))
    assert not bench & set(run)
    assert {s.name for s in wanted} <= bench | set(run)


@pytest.mark.parametrize(
    ("python", "label", "image"),
    [
        ("3.9", "py39", ("python", "3.9")),
        ("3.15", "py315", ("python", "3.15")),
        ("pypy3.11", "pypy311", ("pypy", "3.11")),
    ],
)
def test_a_python_names_its_image_and_its_services(python: str, label: str, image: tuple[str, str]) -> None:
    assert python_label(python) == label
    assert python_image(python) == image
    service = next(s for s in MATRIX.services if s.name == f"gunicorn-sync-wsgi-{label}-debian")
    knobs = {"PYTHON_IMAGE": "bench-python", "PYPY_IMAGE": "a/pypy"}
    prefix = {"python": "bench-python", "pypy": "a/pypy"}[image[0]]
    assert MATRIX.base_image(service, knobs) == f"{prefix}:{image[1]}-slim"
    text = run_services(MATRIX, [service])
    name = image[0].upper()
    assert f'"PYTHON_IMAGE": "${{LOCAL_{name}_IMAGE:-${{{name}_IMAGE:-{image[0]}}}}}"' in text
    assert f'"PYTHON": "{image[1]}", "LOCKS": "{label}"' in text


@pytest.mark.parametrize("python", ["2.7", "3", "3.13t", "jython3.11", "pypy"])
def test_a_python_that_no_image_is_named_for_is_refused(python: str, tmp_path: Path) -> None:
    data = raw()
    data["pythons"][python] = {}
    with pytest.raises(UserError, match=r"neither 3\.X nor pypy3\.X"):
        load_matrix(write(tmp_path, data))


def test_bases_are_made_where_a_release_has_the_python_and_listed_everywhere() -> None:
    lines = [line.split("\t") for line in bases_file(MATRIX).splitlines() if not line.startswith("#")]
    how = {f"{image}:{tag}": (suite, interpreter) for image, tag, suite, interpreter in lines}
    assert how["python:3.9-slim"] == ("bullseye", "python3.9")
    assert how["python:3.15-slim"] == ("forky", "python3.15")
    assert how["pypy:3.11-slim"] == ("trixie", "pypy3")
    assert how["python:3.12-slim"] == how["python:3.13-alpine"] == ("-", "-")
    assert "pypy:3.11-alpine" not in how


def test_setup_gets_the_default_python() -> None:
    assert f"\nsetup_python={MATRIX.default_python}\n" in (ROOT / "scripts/lib/bases.sh").read_text()


def test_there_is_no_pypy_on_alpine_and_a_reason() -> None:
    found = {s.skip for s in MATRIX.services if (s.python, s.base) == ("pypy3.11", "alpine")}
    assert "there is no official image of PyPy on Alpine" in found
    assert None not in found


def test_a_skip_can_be_of_one_style_alone() -> None:
    causes = {s.stack: s.skip for s in MATRIX.services if (s.python, s.base) == ("pypy3.11", "debian")}
    assert causes["uvicorn-asgi"] == causes["tornado"] == "asyncpg does not compile on PyPy"
    assert causes["gunicorn-sync-flask"] is causes["cherrypy"] is None


def test_a_version_that_a_python_is_too_old_for_is_skipped_and_not_locked() -> None:
    service = next(s for s in MATRIX.services if s.name == "aiohttp-py39-debian")
    assert MATRIX.with_package(service, "aiohttp==3.13.5").skip is None
    assert MATRIX.with_package(service, "aiohttp==3.14.5").skip == "aiohttp 3.14 needs Python 3.10"
    assert MATRIX.needs("3.9")[2] == ["aiohttp==3.13.5"]
    assert MATRIX.needs("3.13")[2] == ["aiohttp==3.13.5", "aiohttp==3.14.5"]


def test_what_is_served_has_the_syntax_of_the_oldest_python() -> None:
    oldest = min(tuple(map(int, p.split("."))) for p in MATRIX.pythons if not p.startswith("pypy"))
    files = itertools.chain((ROOT / "services").rglob("*.py"), (ROOT / "services").rglob("start"))
    for path in files:
        text = path.read_text()
        if path.parent != ROOT / "services" and not text.startswith("#!/bin/sh"):
            ast.parse(text, str(path), feature_version=oldest)


def test_presets_name_what_exists() -> None:
    for preset in MATRIX.presets.values():
        for load in preset.loads:
            assert load.scenarios and load.levels and set(load.tools) <= set(TOOLS)
            for scenario in load.scenarios:
                MATRIX.route_of(scenario)


def test_quick_is_about_eight_services_three_scenarios_and_all_tools() -> None:
    quick = MATRIX.presets["quick"]
    assert len(quick.stacks) == 8
    assert {s for load in quick.loads for s in load.scenarios} == {"json", "plaintext", "delay-20"}
    assert {t for load in quick.loads for t in load.tools} == set(TOOLS)


def test_env_holds_every_knob_once_with_a_comment() -> None:
    lines = (ROOT / ".env").read_text().splitlines()
    keys = [line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")]
    assert sorted(keys) == sorted(SETTINGS)
    assert read_settings({}, ROOT)["WORKER_CLASS"] in ("sync", "gevent")


def test_an_exported_knob_wins_over_the_file() -> None:
    assert read_settings({"WORKERS": "3"}, ROOT)["WORKERS"] == "3"
    assert read_settings({"WORKERS": ""}, ROOT)["WORKERS"] == read_env(ROOT / ".env")["WORKERS"]


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("WORKER_CLASS", "threads"),
        ("WORKERS", "0"),
        ("WORKERS", "two"),
        ("WORKERS", "²"),
        ("SERVER_CPUS", "0-"),
        ("MEMORY", "lots"),
        ("BENCH_SUBNET", "10.0.0.1"),
        ("SELECTION", "$(id)"),
        ("PYTHON_JIT", "on"),
        ("PYPY_IMAGE", "a b"),
        ("COMPOSE_SERVICES", "../compose"),
        ("PYTHON_IMAGE", "a b"),
        ("MAX_STEAL", "1 %"),
        ("MAX_FOREIGN_CPU", "-5"),
        ("MAX_LOADGEN_WAIT", "1e3"),
    ],
)
def test_a_wrong_knob_is_one_line_that_names_it(knob: str, value: str) -> None:
    with pytest.raises(UserError, match=knob) as caught:
        read_settings({knob: value}, ROOT)
    assert "\n" not in str(caught.value)


def test_a_scenario_fills_in_its_number() -> None:
    assert MATRIX.route_of("queries-20-raw")[1] == "/raw/queries/20"
    assert MATRIX.route_of("delay-0")[1] == "/?duration=0"
    assert MATRIX.route_of("root")[1] == "/"
    for wrong in ("queries--raw", "queries-x-raw", "delay-²", "delay-1-2", ""):
        with pytest.raises(UserError, match="unknown scenario"):
            MATRIX.route_of(wrong)


def test_another_version_of_a_package_is_a_service_of_its_own() -> None:
    service = next(s for s in MATRIX.services if s.name == "aiohttp-py313-debian")
    assert MATRIX.with_package(service, "aiohttp==3.13.5").name == "aiohttp-3-13-5-py313-debian"
    assert MATRIX.with_package(service, "yarl==1.2").name == "aiohttp-yarl-1-2-py313-debian"
    for wrong in ("aiohttp", "aiohttp>=3", "aiohttp==", "a b==1", "aiohttp==1; rm"):
        with pytest.raises(UserError, match="NAME==VERSION"):
            MATRIX.with_package(service, wrong)


def test_what_a_framework_lacks_has_a_reason() -> None:
    proxy = next(s for s in MATRIX.services if s.framework.name == "proxy-py")
    assert proxy.lacking(MATRIX.routes["json"]) is None
    assert "no way to wait" in str(proxy.lacking(MATRIX.routes["db-raw"]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("routes"), "'routes' is missing"),
        (lambda m: m.update(schema=2), "schema is 2"),
        (lambda m: m["servers"]["bjoern"].update(style="green"), "neither sync nor async"),
        (lambda m: m["servers"].update({"Bad Name": m["servers"]["bjoern"]}), "lower-case"),
        (lambda m: m["frameworks"]["hug"].update(lacks={"no-route": "x"}), "which is no route"),
        (lambda m: m["presets"]["quick"].pop("loads"), "'loads' is missing"),
        (lambda m: m.update(servers=3), "does not fit"),
        (lambda m: m["routes"]["json"].update(colour="red"), "does not fit"),
    ],
)
def test_a_list_that_does_not_fit_is_one_line(change: Any, words: str, tmp_path: Path) -> None:
    data = raw()
    change(data)
    with pytest.raises(UserError, match=words) as caught:
        load_matrix(write(tmp_path, data))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_bytes(b"[[[\xff")
    with pytest.raises(UserError, match="not valid TOML"):
        load_matrix(tmp_path / "broken.toml")
    with pytest.raises(UserError, match="cannot read"):
        load_matrix(tmp_path / "absent.toml")


def write(folder: Path, data: Any) -> Path:
    """A matrix.toml of `data`: TOML's inline forms are close enough to JSON's for what this list holds."""
    path = folder / "matrix.toml"
    path.write_text("".join(f"{key} = {inline(value)}\n" for key, value in data.items()))
    return path


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {inline(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
