"""From the options to the description of an app: errors are reported before anything is built."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from an_app import an_app
from make_plans import MATRIX

from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run, plan_of
from bench.cli.report import build_verb
from bench.core.errors import UserError
from bench.own_app.app import read_app, with_own_app, write_app
from bench.own_app.describe import Given, describe, requirements_of
from bench.own_app.metadata import left_unread
from bench.own_app.targets import Target
from bench.plan.refs import REFS
from driver.messages import host_of

FLASK = "from flask import Flask\napp = Flask(__name__)\n"


@pytest.fixture
def given(tmp_path: Path) -> Given:
    (tmp_path / "main.py").write_text(FLASK)
    return Given(folder="/home/me/My shop", app="main:app", source=tmp_path)


def test_what_is_found_in_the_folder(given: Given) -> None:
    app, by = describe(given, MATRIX)
    assert (app.name, app.interface, by) == ("my-shop", "wsgi", "flask.Flask")
    assert (app.pythons, app.targets, app.scenario) == (("3.13",), (Target("get-root"),), "get-root")


def test_two_folders_of_one_name_have_images_of_their_own(given: Given) -> None:
    one, other = (describe(replace(given, folder=f"/{name}/shop"), MATRIX)[0] for name in "ab")
    assert one.name == other.name and one.label != other.label


def test_a_folder_called_like_a_framework_or_a_server_is_not_mistaken_for_it(given: Given) -> None:
    for name in ("flask", "uvicorn"):
        assert describe(replace(given, folder=f"/x/{name}"), MATRIX)[0].name == f"app-{name}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"app": "main"}, "is not MODULE:CALLABLE"),
        ({"app": "main.py:app"}, "has no module 'main.py'"),
        ({"app": "../main:app"}, "is not MODULE:CALLABLE"),
        ({"app": "main:app; rm"}, "is not MODULE:CALLABLE"),
        ({"app": "other:app"}, "has no module 'other'; it has: main"),
        ({"app": "main:application"}, "does not show its interface: give --interface wsgi, asgi, aiohttp or tornado"),
        ({"interface": "cgi"}, "unknown interface 'cgi'"),
        ({"pythons": ("2.7",)}, "unknown Python '2.7'"),
    ],
)
def test_refused(given: Given, change: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        describe(replace(given, **change), MATRIX)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["common", "server"])
def test_a_module_that_the_images_have_too(given: Given, name: str) -> None:
    (given.source / f"{name}.py").touch()
    with pytest.raises(UserError, match=f"has a module '{name}'"):
        describe(given, MATRIX)


def test_the_names_of_an_environment_are_taken_and_its_values_are_not(given: Given, tmp_path: Path) -> None:
    file = tmp_path / "shop.env"
    file.write_text("# comment\n\nexport TOKEN='very secret'\nURL=x=y\n")
    app, _ = describe(replace(given, variables=file, env_file="/home/me/shop.env"), MATRIX)
    write_app(tmp_path, app)
    assert app.variables == ("TOKEN", "URL")
    assert "very secret" not in (tmp_path / "app.json").read_text()


def test_expectations_are_of_targets_that_there_are(given: Given, tmp_path: Path) -> None:
    file = tmp_path / "expect.json"
    file.write_text('{"GET /": {"contains": ["x"]}}')
    assert describe(replace(given, expect=file), MATRIX)[0].expect == ({"contains": ["x"]},)


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("variables", "WORKERS=4\n", "WORKERS is set by the benchmark"),
        ("variables", "TIMEOUT=300\n", "TIMEOUT is set by the benchmark"),
        ("variables", "DOCKER_HOST=x\n", "DOCKER_HOST is set by the benchmark"),
        ("variables", "A=1\nGUNICORN_CMD_ARGS=x\n", "line 2: GUNICORN_CMD_ARGS is read by gunicorn-.* itself"),
        ("variables", "UWSGI_HARAKIRI=9\n", "UWSGI_HARAKIRI is read by uwsgi and uwsgi-http-socket itself"),
        ("variables", "hello\n", "line 1 is not NAME=VALUE"),
        ("expect", "[]", "is not an object"),
        ("expect", "{", "cannot be read as JSON"),
        ("expect", '{"GET /no": {}}', "unknown target 'GET /no'"),
        ("expect", '{"GET /": {"size": 3}}', "unknown expectation 'size'"),
        ("expect", '{"GET /": {"contains": "Product 50"}}', "GET /: contains is not a list of texts"),
        ("expect", '{"GET /": {"contains": [50]}}', "contains is not a list of texts"),
        ("expect", '{"GET /": {"headers": ["X-A"]}}', "headers is not an object of texts"),
        ("expect", '{"GET /": {"status": "200"}}', "status is not a number"),
        ("targets", "# name queries-5-raw\nGET /\n", "is taken by a route of the contract"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    given: Given, tmp_path: Path, option: str, text: str, words: str
) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(UserError, match=words):
        describe(replace(given, **{option: tmp_path / "file"}), MATRIX)  # type: ignore[arg-type]


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    app = an_app(Target("a", "POST", "/a", (("X", "ü"),), b"\xff\0", 3), Target("get-b", path="/b"))
    write_app(tmp_path, app)
    assert read_app(tmp_path) == app
    (tmp_path / "app.json").write_text("{}")
    with pytest.raises(UserError, match="does not describe an app"):
        read_app(tmp_path)


def test_the_matrix_has_the_app_on_every_server_of_its_interface(given: Given) -> None:
    own = with_own_app(MATRIX, describe(given, MATRIX)[0])
    services = [s for s in own.services if s.framework.name == "my-shop" and s.python == "3.13"]
    assert {s.server.name for s in services} == {s.name for s in MATRIX.servers.values() if "wsgi" in s.serves}
    assert len(own.services) - len(MATRIX.services) == len(services) * len(MATRIX.pythons)
    [route] = [route for name, route in own.routes.items() if name not in MATRIX.routes]
    assert (route.scenario, route.path, route.waits, route.targets) == ("get-root", "/", True, 1)
    assert services[0].lacking(route) is None
    assert all(services[0].lacking(other) for other in MATRIX.routes.values())
    assert services[0].image.startswith("bench/own-")


PROJECT = "[project]\nname = 'x'\ndependencies = ['flask']\n"
LOCKED = "flask==3.1 \\\n    --hash=sha256:ab\n# x\n\n-r more.txt\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, {"requirements.in": ""}),
        ({"requirements.txt": LOCKED, "more.txt": "gunicorn  # why\n"}, {"requirements.in": "flask==3.1\ngunicorn\n"}),
        (
            {"requirements.txt": "flask\n-c all.txt\n", "all.txt": "pywin32==306\n-r more.txt\n", "more.txt": "x==1\n"},
            {"requirements.in": "-c .constraints.txt\nflask\n", ".constraints.txt": "pywin32==306\nx==1\n"},
        ),
        ({"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT}),
    ],
)
def test_requirements_are_found(tmp_path: Path, files: dict[str, str], found: dict[str, str]) -> None:
    for file, words in files.items():
        (tmp_path / file).write_text(words)
    assert requirements_of(tmp_path, None, "") == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-e .\n", "is a local package"),
        ("./wheels/x.whl\n", "is a local package"),
        ("-r requirements.txt\n", "includes itself"),
        ("-r no.txt\n", "cannot read the requirements in no.txt"),
        *(
            (f"{word} {name}\n", "it is outside of its folder")
            for word, name in (("-r", "/dev/zero"), ("-c", "../x.txt"), ("-r", "link"), ("--requirement", "a/../link"))
        ),
        ("--extra-index-url https://example.org/simple\ntorch\n", "'--extra-index-url' is not supported"),
    ],
)
def test_requirements_that_cannot_be_locked(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("/proc/self/environ")
    with pytest.raises(UserError, match=words):
        requirements_of(tmp_path, None, "")


def test_sources_of_uv_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT + '[tool.uv.sources]\nsix = { path = "/etc" }\n')
    with pytest.raises(UserError, match=r"pyproject.toml: \[tool.uv.sources\] is not supported"):
        requirements_of(tmp_path, None, "")


def test_the_plan_of_an_app_is_a_table_in_turns_and_with_a_p99_a_knee_for_each_server(
    given: Given, tmp_path: Path
) -> None:
    app, _ = describe(given, MATRIX)
    write_app(tmp_path, app)
    words = [f"--own-app={tmp_path}", "--server", "waitress,cheroot"]
    plan, _, _ = plan_of(parse_selection(words))
    assert [(table.first.scenario, len(table.cells)) for table in plan.tables] == [("get-root", 2)]
    assert not plan.alone
    plan, _, _ = plan_of(parse_selection([*words, "--p99", "50ms"]))
    assert len(plan.tables) == 1 and {cell.level.name for cell in plan.alone} == {"knee-p99-50ms"}
    plan, _, _ = plan_of(parse_selection([*words, "--p99", "50ms", "--level", "64", "--tool", "hey"]))
    assert {(cell.tool, cell.level.name) for cell in plan.alone} == {("vegeta", "knee-p99-50ms")}
    assert [(table.first.tool, table.first.level.name) for table in plan.tables] == [("hey", "c64")]
    for wrong in (["--preset", "quick"], ["--stack", "aiohttp"], ["--p99", "soon"], ["--cpu-hour-price", "-1"]):
        with pytest.raises(UserError):
            plan_of(parse_selection([*words, *wrong]))
    with pytest.raises(UserError, match="needs --app"):
        plan_of(parse_selection(["--p99", "50ms"]))


def test_the_lines_of_an_app_name_its_requests_and_a_run_has_them_for_every_tool(given: Given, tmp_path: Path) -> None:
    app, _ = describe(given, MATRIX)
    (tmp_path / "described").mkdir()
    write_app(tmp_path / "described", app)
    words = [f"--own-app={tmp_path / 'described'}", "--server", "waitress,cheroot", "--cpu-hour-price", "0.04"]
    run = make_run(parse_selection(words), tmp_path / "run")
    planned = [json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines()]
    own = [line for line in planned if line.get("mode") == "turns"]
    assert {(line["requests"], line["targets"]) for line in own} == {("app/load/get-root", 1)}
    assert all("requests" not in line for line in planned if line.get("mode") == "null")
    assert (run / "app/load/get-root/requests.lua").is_file() and (run / "app/load/get-root/headers").read_text() == ""
    facts = json.loads((run / "run.json").read_text())
    assert facts["own_app"]["cpu_hour_price"] == 0.04 and facts["command"] == words[1:]
    services = (run / "services.yml").read_text()
    assert "target: own-app" in services and json.dumps(given.folder) in services
    assert f"{run}/app/locks/py313" in services
    own_app = host_of(facts).own_app
    assert own_app and own_app.app == "main:app"
    # Reports have no path of the machine.
    assert build_verb(["--quiet", str(run)]) == 0
    page = (run / "index.html").read_text()
    assert "main:app in My shop" in page and "/home/me" not in page + (run / "report.md").read_text()


@pytest.fixture
def words(given: Given, tmp_path: Path) -> list[str]:
    """The options with which scripts/compare.sh measures an app of two refs."""
    for name in ("base", "head"):
        (tmp_path / name / "locks").mkdir(parents=True)
        app, _ = describe(replace(given, folder=f"/at/{name}/shop"), MATRIX)
        write_app(tmp_path / name, app)
    refs = tmp_path / "refs"
    refs.mkdir()
    sides = [
        {"label": ref, "name": ref, "mark": f"{ref}-123", "place": f"results/.refs/{ref}"}
        | {"commit": ref, "head": ref, "dirty": False}
        for ref in ("main", "topic")
    ]
    saved = {"repository": "/at", "paths": ["shop"], "changed": ["shop/main.py"], "sides": sides}
    (refs / REFS).write_text(json.dumps(saved))
    return [f"--own-app={tmp_path / 'base'}", f"--own-head={tmp_path / 'head'}", f"--sides={refs}"]


def test_an_app_is_measured_from_both_refs_on_one_server_unless_more_are_named(words: list[str]) -> None:
    options = parse_selection(words)
    plan, _, _ = plan_of(options)
    assert [service.settings_text for service in plan.services] == ["REF=main", "REF=topic"]
    assert [service.stack for service in plan.services] == ["gunicorn-sync-shop"] * 2
    assert options.max_time == 240
    assert [len(table.cells) for table in plan.tables] == [2]
    assert plan.refs is not None and plan.refs["notes"] == []
    more, _, _ = plan_of(parse_selection([*words, "--server", "waitress,cheroot"]))
    assert [len(table.cells) for table in more.tables] == [4]
    with pytest.raises(UserError, match="--target does not go with two refs"):
        plan_of(parse_selection([*words, "--target", "http://127.0.0.1:1"]))


def test_each_side_has_an_image_of_its_own_folder_and_locks(words: list[str], tmp_path: Path) -> None:
    run = make_run(parse_selection(words), tmp_path / "run")
    text = (run / "services.yml").read_text()
    for ref, side, locks in (("main", "base", "locks"), ("topic", "head", "locks-head")):
        built = text.split(f"  gunicorn-sync-shop-py313-debian-{ref}-123:\n")[1].partition("  gunicorn-sync-shop")[0]
        assert f'"app-source": "/at/{side}/shop", "app-locks": "{run}/app/{locks}/py313"' in built
        assert "context: services/" in built
    assert (run / "app/locks-head").is_dir()
    assert json.loads((run / REFS).read_text())["repository"] == "/at"
    facts = json.loads((run / "run.json").read_text())
    assert facts["command"] == [] and facts["refs"]["head"]["ref"] == "topic"


@pytest.mark.parametrize(
    ("wanted", "pythons", "words"),
    [
        (">=3.12", (), ""),
        (">=3.13.2", (), ""),
        ("<3.13", (), r"requires Python <3\.13: give --python 3\.12"),
        (">=3.14", (), r"give --python 3\.14"),
        (">=3.14", ("3.14",), ""),
        (">=4", (), "no Python of the matrix is"),
        ("nonsense", (), ""),
    ],
)
def test_the_python_is_one_that_the_app_accepts(
    given: Given, wanted: str, pythons: tuple[str, ...], words: str
) -> None:
    (given.source / "pyproject.toml").write_text(f'[project]\nname = "a"\nrequires-python = "{wanted}"\n')
    chosen = replace(given, pythons=pythons)
    if not words:
        assert describe(chosen, MATRIX)[0].pythons == (pythons or ("3.13",))
    else:
        with pytest.raises(UserError, match=words):
            describe(chosen, MATRIX)


def test_a_syntax_that_is_too_new_is_named(given: Given) -> None:
    (given.source / "main.py").write_text("app = 1\ndef f(:\n")
    with pytest.raises(UserError, match=r"main\.py, line 2, is not valid Python 3\..*: give --interface"):
        describe(given, MATRIX)


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "Pipfile.lock", "pylock.toml"])
def test_a_lock_that_is_not_read_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    assert [*left_unread(tmp_path, None)] == []
    (tmp_path / name).touch()
    (line,) = left_unread(tmp_path, None)
    assert line.startswith(f"{name} is not read") and line.endswith("--requirements FILE")
    assert [*left_unread(tmp_path, tmp_path / "requirements.txt")] == []


def test_the_settings_of_gunicorn_are_said_to_be_bypassed(tmp_path: Path) -> None:
    (tmp_path / "gunicorn.conf.py").touch()
    (line,) = left_unread(tmp_path, tmp_path / "requirements.txt")
    assert line.startswith("gunicorn.conf.py is not used")


def test_dependencies_of_poetry_are_named_with_the_command_that_exports_them(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.poetry.dependencies]\nflask = '*'\n")
    with pytest.raises(UserError, match=r"poetry export .*--requirements FILE"):
        requirements_of(tmp_path, None, "")
