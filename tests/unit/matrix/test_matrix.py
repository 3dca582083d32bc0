"""The matrix: what results from its files, where they are, and the errors for an invalid one."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from captured import refused
from inline_toml import as_file
from make_plans import MATRIX
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.catalogue import catalogue_file, versions
from bench.matrix.compose import run_services
from bench.matrix.load import LOCAL, load_matrix, merged, parse_matrix, read_tables
from bench.matrix.model import NAME, python_image, python_label
from bench.matrix.packages import with_package
from bench.matrix.settings import read_env
from bench.run.writer import service_facts

FIRST_STACKS = [
    *("aiohttp", "gunicorn-aiohttp-aiohttp", "proxy-py", "uvicorn-blacksheep", "tornado", "werkzeug-flask"),
    *("gunicorn-sync-flask", "gunicorn-gevent-flask", "bjoern-wsgi", "bjoern-hug", "cherrypy"),
    *("gunicorn-sync-wsgi", "uvicorn-asgi", "uvicorn-starlette"),
]


def raw() -> dict[str, Any]:
    return read_tables(ROOT / "services/matrix.toml")[0]


@pytest.mark.parametrize("stack", FIRST_STACKS)
@pytest.mark.parametrize("python", ["3.11", "3.13", "3.14"])
def test_first_stacks_are_served_on_every_python(stack: str, python: str) -> None:
    name = f"{stack}-py{python.replace('.', '')}-debian"
    assert [s.skip for s in MATRIX.services if s.name == name] == [None]


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
    asgi = {f"{server.name}-sanic": "asgi" for server in MATRIX.servers.values() if "asgi" in server.serves}
    assert hosts == asgi | {"sanic": "sanic"} and "uvicorn-sanic" in asgi


def test_every_server_and_framework_has_its_folder_and_the_reverse() -> None:
    frameworks = {*MATRIX.frameworks, *(f.folder for f in MATRIX.selftests.values())}
    for kind, names, files in (
        ("servers", MATRIX.servers, {"server.toml", "start", "requirements.txt"}),
        ("frameworks", frameworks, {"app.py", "requirements.txt"}),
    ):
        folders = {p.name: {f.name for f in p.iterdir()} for p in (ROOT / "services" / kind).iterdir() if p.is_dir()}
        assert folders.keys() == set(names)
        for name, held in folders.items():
            assert files <= held, name


def test_what_is_known_of_a_server_or_framework_stands_in_its_folder_alone() -> None:
    text = (ROOT / "services/matrix.toml").read_text()
    own = tomllib.loads(text)
    assert [*own] == ["schema", "defaults", "bases", "pythons", "order", "sources", "skip", "routes"]
    assert text.count("\n") < 250
    gone = {kind: set(names).difference(getattr(MATRIX, kind)) for kind, names in own["order"].items()}
    assert gone == {"servers": set(), "frameworks": set(), "presets": set()}


def test_lines_of_facts_can_be_read() -> None:
    files = [path for path in ROOT.glob("services/**/*.toml") if path.name != LOCAL]
    assert len(files) > len(MATRIX.servers) + len(MATRIX.frameworks)
    assert not [path for path in files if max(map(len, path.read_text().splitlines())) > 160]


def test_who_is_not_in_the_order_comes_last_by_name(tmp_path: Path) -> None:
    data = raw()
    data["order"]["servers"] = ["waitress", "no-folder", "bjoern"]
    moved = {name: data["servers"].pop(name) for name in ("tornado", "bjoern", "aiohttp", "waitress")}
    for name, facts in moved.items():
        place(tmp_path / f"servers/{name}/server.toml", facts)
    data["servers"] = {}
    assert [*load_matrix(write(tmp_path, data)).servers] == ["waitress", "bjoern", "aiohttp", "tornado"]


IN_FILES = [
    ("servers/uvicorn/server.toml", {"concurrent": "yes"}, "servers.uvicorn.concurrent: expected 'bool'"),
    ("servers/uvicorn/server.toml", {"style": "green"}, "servers.uvicorn.style: 'green' must be sync or async"),
    ("frameworks/hug/framework.toml", {"offers": ["x"]}, "frameworks.hug offers 'x', which is not a route"),
    ("presets/quick.toml", {"rounds": 0}, "presets.quick.rounds: expected 'int' >= 1"),
]


@pytest.mark.parametrize(("file", "change", "words"), IN_FILES)
def test_an_error_names_the_file_with_the_key(file: str, change: dict[str, Any], words: str, tmp_path: Path) -> None:
    data, (table, name) = raw(), file.removesuffix(".toml").split("/")[:2]
    own = place(tmp_path / file, data[table].pop(name) | change)
    fault = str(refused(UserError, load_matrix, write(tmp_path, data)))
    assert fault.startswith(f"{own} is not a valid matrix: {words}")


def test_a_ref_from_before_there_were_files_of_servers_has_the_same_facts() -> None:
    data = raw()
    found = {name: server.pop("defaults") for name, server in data["servers"].items()}
    data["notes"] = {name: server.pop("notes") for name, server in data["servers"].items()}
    later = {"servers": ["*"], "value": "a later one", "source": "x"}
    data["server_defaults"] = {
        kind: [*({"servers": ["none", f"{name[:-1]}?"], **of[kind]} for name, of in found.items()), later]
        for kind in ("graceful", "timeout", "keepalive", "backlog", "silent", "respawn")
    }
    assert parse_matrix(data).servers == MATRIX.servers


@pytest.mark.parametrize(
    ("kind", "version", "label"), [("python", "3.9", "py39"), ("python", "3.15", "py315"), ("pypy", "3.11", "pypy311")]
)
def test_a_python_names_its_image_and_its_services(kind: str, version: str, label: str) -> None:
    python = f"{kind}{version}".removeprefix("python")
    assert (python_label(python), python_image(python)) == (label, (kind, version))
    service = next(s for s in MATRIX.services if s.name == f"gunicorn-sync-wsgi-{label}-debian")
    prefix = {"python": "bench-python", "pypy": "a/pypy"}
    settings = {f"{kind.upper()}_IMAGE": image for kind, image in prefix.items()}
    assert MATRIX.base_image(service, settings) == f"{prefix[kind]}:{version}-slim"
    text = run_services(MATRIX, [service])
    name = kind.upper()
    assert f'"PYTHON_IMAGE": "${{LOCAL_{name}_IMAGE:-${{{name}_IMAGE:-{kind}}}}}"' in text
    assert f'"PYTHON": "{version}", "LOCKS": "{label}"' in text


@pytest.mark.parametrize("python", ["2.7", "3", "3.13t", "jython3.11", "pypy"])
def test_a_python_that_no_image_is_named_for_is_refused(python: str, tmp_path: Path) -> None:
    data = raw()
    data["pythons"][python] = {}
    assert "must be 3.X or pypy3.X" in str(refused(UserError, load_matrix, write(tmp_path, data)))


def test_setup_gets_the_default_python() -> None:
    assert f"\nsetup_python={MATRIX.default_python}\n" in (ROOT / "scripts/lib/bases.sh").read_text()


def test_there_is_no_pypy_on_alpine_and_a_reason() -> None:
    found = {s.skip for s in MATRIX.services if (s.python, s.base) == ("pypy3.11", "alpine")}
    assert "there is no official image of PyPy on Alpine" in found and None not in found


def test_a_skip_can_be_of_one_style_alone() -> None:
    causes = {s.stack: s.skip for s in MATRIX.services if (s.python, s.base) == ("pypy3.11", "debian")}
    assert causes["uvicorn-asgi"] == causes["tornado"] == "asyncpg does not compile on PyPy"
    assert causes["gunicorn-sync-flask"] is causes["cherrypy"] is None


def test_what_is_served_has_the_syntax_of_the_oldest_python() -> None:
    oldest = min(tuple(map(int, p.split("."))) for p in MATRIX.pythons if not p.startswith("pypy"))
    files = itertools.chain((ROOT / "services").rglob("*.py"), (ROOT / "services").rglob("start"))
    texts = {path: path.read_text() for path in files if path.parent != ROOT / "services"}
    programs = {path: text for path, text in texts.items() if not text.startswith("#!/bin/sh")}
    assert len(programs) > len(MATRIX.frameworks)
    for path, text in programs.items():
        ast.parse(text, str(path), feature_version=oldest)


def test_a_scenario_fills_in_its_number() -> None:
    assert MATRIX.route_of("queries-20-raw")[1].path == "/raw/queries/20"
    assert MATRIX.route_of("delay-0")[1].path == "/?duration=0" and MATRIX.route_of("root")[1].path == "/"
    for wrong in ("queries--raw", "queries-x-raw", "delay-²", "delay-1-2", ""):
        assert "unknown scenario" in str(refused(UserError, MATRIX.route_of, wrong))


def test_another_version_of_a_package_is_a_service_of_its_own() -> None:
    service = next(s for s in MATRIX.services if s.name == "aiohttp-py313-debian")
    assert with_package(MATRIX, service, "aiohttp==3.13.5").name == "aiohttp-3-13-5-py313-debian"
    sync = next(s for s in MATRIX.services if s.name == "gunicorn-sync-wsgi-py313-debian")
    assert with_package(MATRIX, sync, "gunicorn==23.0.0").name == "gunicorn-sync-wsgi-23-0-0-py313-debian"
    assert with_package(MATRIX, service, "yarl==1.2").name == "aiohttp-yarl-1-2-py313-debian"
    for wrong in ("aiohttp", "aiohttp>=3", "aiohttp==", "a b==1", "aiohttp==1; rm"):
        assert "NAME==VERSION" in str(refused(UserError, with_package, MATRIX, service, wrong))


def test_what_a_framework_lacks_has_a_reason() -> None:
    proxy = next(s for s in MATRIX.services if s.framework.name == "proxy-py")
    assert proxy.lacking(MATRIX.routes["json"]) is None
    assert "cannot wait" in str(proxy.lacking(MATRIX.routes["db-raw"]))


def test_what_is_offered_narrows_what_is_lacking(tmp_path: Path) -> None:
    data = raw()
    data["frameworks"]["proxy-py"].update(offers=["echo", "db-raw"])
    matrix = load_matrix(write(tmp_path, data))
    proxy = next(s for s in matrix.services if s.framework.name == "proxy-py")
    missing = {name for name, route in matrix.routes.items() if proxy.lacking(route) and not route.selftest}
    assert {"db-orm", "fortunes-raw", "simple-request"} <= missing
    assert not missing & {"echo", "db-raw", "json"}
    assert "all but the basic routes and echo, db-raw: its plugins" in catalogue_file(matrix)


def test_what_a_combination_cannot_serve_has_a_cause(tmp_path: Path) -> None:
    data = raw()
    data["skip"].append({"service": "bjoern-*", "route": "updates-raw", "cause": "it cannot"})
    matrix = load_matrix(write(tmp_path, data))
    one = next(s for s in matrix.services if s.name == "bjoern-wsgi-py313-debian")
    assert {name: one.lacking(matrix.routes[name]) for name in ("updates-raw", "json")} == {
        "updates-raw": "it cannot",
        "json": None,
    }
    assert one.skip is None
    held = sum(s.server.name == "bjoern" for s in matrix.services)
    assert f"- `bjoern-*`, updates-raw ({held}): it cannot" in catalogue_file(matrix)


def test_the_catalogue_links_to_sources_instead_of_quoting_them() -> None:
    rows = [line.split("|") for line in catalogue_file(MATRIX).splitlines() if line.startswith("| ")]
    assert [cell for row in rows for cell in row if len(cell.split()) > 25] == []
    linked = {row[1].strip() for row in rows}
    assert {f"[`{name}`](../services/servers/{name}/server.toml)" for name in MATRIX.servers} <= linked


def bjoern(matrix: dict[str, Any]) -> dict[str, Any]:
    """The defaults of a server, in what is written to matrix.toml."""
    defaults: dict[str, Any] = matrix["servers"]["bjoern"]["defaults"]
    return defaults


UNFIT = [
    (lambda m: m.pop("routes"), "missing key 'routes'"),
    (lambda m: m.update(schema=2), "schema is 2"),
    (lambda m: m["servers"].update({"Bad Name": m["servers"]["bjoern"]}), "lower-case"),
    (lambda m: m["frameworks"]["hug"].update(lacks={"no-route": "x"}), "which is not a route"),
    (lambda m: m["frameworks"]["proxy-py"].update(offers=["busy"]), "offers 'busy', which is not a route"),
    (lambda m: m["frameworks"]["hug"].update(offers=["echo"]), "exceptions to lacks = '\\*'"),
    (lambda m: m["skip"].append({"service": "x", "route": "no-route", "cause": "x"}), "'no-route' is not a route"),
    (lambda m: m["presets"]["quick"].pop("loads"), "presets.quick: missing key 'loads'"),
    (lambda m: m.update(servers=3), "is not a valid matrix"),
    (lambda m: m["routes"]["json"].update(colour="red"), "routes.json: unknown key 'colour'"),
    (lambda m: m["presets"]["quick"].update(title="two\nlines"), "presets.quick.title is not one line of text"),
    (lambda m: m["presets"]["quick"].update(stacks="x"), "presets.quick.stacks: expected 'array', got 'str'"),
    (lambda m: m["presets"]["quick"].update(stacks=["x", ""]), r"quick.stacks\[1\] is not one line of text"),
    (lambda m: m["defaults"].update(warmup=-1), "defaults.warmup: expected 'float' >= 0.0"),
    (lambda m: m["servers"]["bjoern"].update(debian=[]), "servers.bjoern.debian: expected 'object', got 'array'"),
    (lambda m: bjoern(m).update(idle=bjoern(m)["silent"]), "servers.bjoern.defaults: Invalid enum value 'idle'"),
    (lambda m: bjoern(m)["timeout"].pop("source"), "servers.bjoern.defaults.timeout: missing key 'source'"),
    (lambda m: m["order"].update(routes=["json"]), "order: unknown key 'routes'"),
]


@pytest.mark.parametrize(("change", "words"), UNFIT)
def test_a_list_that_does_not_fit_is_one_line(change: Any, words: str, tmp_path: Path) -> None:
    data = raw()
    change(data)
    with pytest.raises(UserError, match=words) as caught:
        load_matrix(write(tmp_path, data))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", list(MATRIX.servers))
def test_a_server_has_all_defaults_that_decide_events(name: str) -> None:
    assert [*MATRIX.servers[name].defaults] == ["graceful", "timeout", "keepalive", "backlog", "silent", "respawn"]


def test_a_server_of_the_users_own_needs_no_defaults(own_matrix: Path) -> None:
    own = '[servers]\nmine = { serves = ["wsgi"], style = "sync", concurrent = true, model = "threads" }\n'
    own_matrix.with_name(LOCAL).write_text(own)
    assert not load_matrix(own_matrix).servers["mine"].defaults


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_bytes(b"[[[\xff")
    assert "not valid TOML" in str(refused(UserError, load_matrix, tmp_path / "broken.toml"))
    assert "cannot read" in str(refused(UserError, load_matrix, tmp_path / "absent.toml"))


def write(folder: Path, data: Any) -> Path:
    return place(folder / "matrix.toml", data)


def place(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_file(data))
    return path


@pytest.fixture
def own_matrix(tmp_path: Path) -> Path:
    return write(tmp_path, raw())


def test_tables_are_merged_and_values_replaced() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}
    made = {"a": {"x": 4, "y": {"z": 2, "w": 3}}, "b": [2], "c": 5}
    assert merged(base, {"a": {"y": {"w": 3}, "x": 4}, "b": [2], "c": 5}) == made
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}


def test_a_local_file_adds_a_framework_and_changes_a_default(own_matrix: Path) -> None:
    before = load_matrix(own_matrix)
    own_matrix.with_name(LOCAL).write_text('[defaults]\nwarmup = 0.25\n[frameworks]\nmine = { interface = "wsgi" }\n')
    after = load_matrix(own_matrix)
    assert [*after.frameworks] == [*before.frameworks, "mine"]
    assert (before.presets["quick"].warmup, after.presets["quick"].warmup) == (1, 0.25)
    assert after.presets["quick"].duration == before.presets["quick"].duration
    assert {s.framework.name for s in after.services} - {s.framework.name for s in before.services} == {"mine"}


@pytest.mark.parametrize(
    ("text", "words"),
    [("[[[", "is not valid TOML"), ('[frameworks]\n"Not A Name" = { interface = "wsgi" }\n', "is not a valid matrix")],
)
def test_an_error_in_it_is_reported_with_its_name(own_matrix: Path, text: str, words: str) -> None:
    own_matrix.with_name(LOCAL).write_text(text)
    with pytest.raises(UserError, match=rf"{LOCAL} {words}"):
        load_matrix(own_matrix)


@pytest.mark.parametrize("name", list(MATRIX.servers))
def test_a_start_names_the_locked_version_whose_documentation_it_follows(name: str) -> None:
    """So that its flags are compared with the new documentation when the lock changes."""
    text = (ROOT / "services/servers" / name / "start").read_text()
    locked = versions(MATRIX, "server", name) or versions(MATRIX, "framework", name)
    main = locked.split(", ")[0].split()[1]
    major_minor = ".".join(re.findall(r"\d+", main)[:2])
    assert re.search(rf"\b{re.escape(major_minor)}\b", text), f"{name}: {locked}"


ADDS = r"""with_headers|date\(\)|"Server"|b"Server"|"Server: |drained:app|unquote|conn_limit = None"""
WRAPS = re.compile(ADDS, re.IGNORECASE)
"""How the files of a server, or the modules of `common` that they import, add something to responses or connections."""


@pytest.mark.parametrize("name", list(MATRIX.servers))
def test_what_a_start_adds_is_a_fact_that_reports_show(name: str) -> None:
    folder, notes = ROOT / "services/servers" / name, MATRIX.servers[name].notes
    texts = [path.read_text() for path in folder.rglob("*") if path.suffix not in (".txt", ".toml") and path.is_file()]
    own = "cheroot_worker" in "".join(texts)
    texts += [(ROOT / "services/common/cheroot_worker.py").read_text()] if own else []
    assert notes and bool(WRAPS.search("".join(texts))) == bool(notes.adds or "header" in notes.sets), name


def test_a_variant_is_of_a_server_that_serves_the_same() -> None:
    variants = [server for server in MATRIX.servers.values() if server.variant_of]
    assert [one.name for one in variants] == ["aiohttp-uvloop", "uwsgi-http-socket", "granian-wsgi-one-thread"]
    assert all(MATRIX.servers[one.variant_of].serves == one.serves for one in variants)


def test_a_stall_of_several_workers_is_none_of_one() -> None:
    names = {f"{stack}-py313-debian" for stack in ("uvicorn-h11-asgi", "gevent-pywsgi-wsgi")}
    wanted = [s for s in MATRIX.services if s.name in names]

    def stalls(workers: str) -> list[str]:
        settings, routes = read_env(ROOT / ".env") | {"WORKERS": workers}, {one.name: [] for one in wanted}
        facts = service_facts(MATRIX, settings, wanted, routes)
        return [str(entry["stack"]) for entry in facts.values() if "stall" in entry["notes"]]

    assert stalls("1") == ["gevent-pywsgi-wsgi"]
    assert sorted(stalls("4")) == ["gevent-pywsgi-wsgi", "uvicorn-h11-asgi"]


LABELS = {"sse": "streams", "ws-echo": "websocket"}


@pytest.mark.parametrize("name", sorted({f.folder for f in MATRIX.frameworks.values()}))
def test_an_app_names_the_documentation_of_its_forms_in_a_line_each(name: str) -> None:
    folder = ROOT / "services/frameworks" / name
    texts = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    forms = [re.search(r"^Forms\b.*\n((?:\w+ {2,}.+\n)+)", text, re.MULTILINE) for text in texts]
    labels = [line.split()[0] for found in forms if found for line in found[1].splitlines()]
    lacks = MATRIX.frameworks[name].lacks
    offered = [label for route, label in LABELS.items() if not lacks.keys() & {route, "*"}]
    assert labels == ["JSON", "templates", "database", "lifespan", *offered]


@pytest.mark.parametrize("name", [f.folder for f in MATRIX.frameworks.values() if "*" not in f.lacks])
def test_an_app_has_one_template_and_no_markup_of_rows(name: str) -> None:
    folder = ROOT / "services/frameworks" / name
    assert len(list(folder.rglob("fortunes.*"))) == 1
    assert not [path for path in folder.rglob("*.py") if "<td" in path.read_text()]
