"""From the options to the description of an app: errors are reported before anything is built."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from an_app import an_app
from make_plans import MATRIX, composed, services_in
from places import ROOT
from tables import rows
from text_files import written

from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run, plan_of
from bench.cli.report import build_verb
from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.core.service_settings import Settings
from bench.matrix.compose import run_services
from bench.matrix.model import Matrix, Service
from bench.matrix.packages import LOCKS, pins_in
from bench.own_app.app import read_app, with_own_app, write_app
from bench.own_app.describe import Given, describe
from bench.own_app.metadata import left_unread, other_python
from bench.own_app.targets import DEFAULT, Target
from bench.plan.measurement import planned_of
from bench.plan.order import measurements
from bench.plan.refs import REFS
from driver.messages import CHANGES, facts_of

FLASK = "from flask import Flask\napp = Flask(__name__)\n"


@pytest.fixture
def given(tmp_path: Path) -> Given:
    (tmp_path / "main.py").write_text(FLASK)
    return Given(folder="/home/me/My shop", app="main:app", source=tmp_path)


def build_arguments(matrix: Matrix, services: Sequence[Service]) -> list[dict[str, str]]:
    return [service["build"]["args"] for service in composed(matrix, services).values()]


def test_what_is_found_in_the_folder(given: Given) -> None:
    app, by = describe(given, MATRIX)
    assert (app.name, app.interface, by) == ("my-shop", "wsgi", "flask.Flask")
    assert (app.pythons, app.targets, app.scenario) == (("3.13",), (DEFAULT,), "get-root")


def test_two_folders_of_one_name_have_images_of_their_own(given: Given) -> None:
    one, other = (describe(replace(given, folder=f"/{name}/shop"), MATRIX)[0] for name in "ab")
    assert one.name == other.name and one.label != other.label


def test_its_images_have_no_package_of_ours_but_the_server(given: Given) -> None:
    own = with_own_app(MATRIX, describe(given, MATRIX)[0])
    for service in [s for s in own.services if s.framework.own or s.name.endswith("-py313-debian")]:
        bases = {args.get("SERVER_BASE") for args in build_arguments(own, [service])}
        assert bases <= {"bare" if service.framework.own else None}
    text = (ROOT / "services/debian.Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM )", text, re.S | re.M)
    bases, bodies = ({stage[1]: stage[part] for stage in stages} for part in (0, 2))
    assert bases["service"] == "${SERVER_BASE}" and "\nARG SERVER_BASE=framework\n" in text
    locks = {stage: re.findall(r"locks/\$?\{?LOCKS\}?(?:/(\w+)-)?", body) for stage, body in bodies.items()}
    assert set(locks["framework"]) == {"common", "framework"} and not locks["bare"]
    # The server's folder of locks is mounted whole, for a package of --package.
    assert re.findall(r"/locks/(\w+)-", bodies["service"]) == ["server", "server", "package"]


def test_a_folder_called_like_a_framework_or_a_server_is_not_mistaken_for_it(given: Given) -> None:
    for name in ("flask", "uvicorn"):
        assert describe(replace(given, folder=f"/x/{name}"), MATRIX)[0].name == f"app-{name}"


@pytest.mark.parametrize(("change", "words"), rows(__file__, "refused"))
def test_refused(given: Given, change: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        describe(replace(given, **change), MATRIX)  # type: ignore[arg-type]


def test_the_names_of_an_environment_are_taken_and_its_values_are_not(given: Given, tmp_path: Path) -> None:
    file = written(tmp_path, {"shop.env": "# comment\n\nexport TOKEN='very secret'\nURL=x=y\n"}) / "shop.env"
    app, _ = describe(replace(given, variables=file, env_file="/home/me/shop.env"), MATRIX)
    write_app(tmp_path, app)
    assert app.variables == ("TOKEN", "URL")
    assert "very secret" not in (tmp_path / "app.json").read_text()


def test_expectations_are_of_targets_that_there_are(given: Given, tmp_path: Path) -> None:
    file = written(tmp_path, {"expect.json": '{"GET /": {"contains": ["x"]}}'}) / "expect.json"
    assert describe(replace(given, expect=file), MATRIX)[0].expect == ({"contains": ["x"]},)


@pytest.mark.parametrize(("option", "text", "words"), rows(__file__, "unusable"))
def test_unusable_files_are_refused(given: Given, tmp_path: Path, option: str, text: str, words: str) -> None:
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
    assert (route.scenario, route.exchange, route.waits) == ("get-root", Exchange(targets=1), True)
    assert services[0].lacking(route) is None
    assert all(services[0].lacking(other) for other in MATRIX.routes.values())
    assert services[0].image.startswith("bench/own-")


def test_the_debian_packages_of_an_app_are_in_all_of_its_images_and_in_no_other(given: Given, tmp_path: Path) -> None:
    app, _ = describe(replace(given, apt="libpq-dev, g++ libpq-dev\n,libstdc++6"), MATRIX)
    assert app.apt == app.facts()["apt"] == ("libpq-dev", "g++", "libstdc++6")
    write_app(tmp_path, app)
    assert read_app(tmp_path) == app
    own = with_own_app(MATRIX, app)
    mine = [s for s in own.services if s.framework.own and s.python == "3.13"]
    assert len(mine) > 9
    assert [args["APT"] for args in build_arguments(own, mine)] == ["libpq-dev g++ libstdc++6"] * len(mine)
    plain = with_own_app(MATRIX, describe(given, MATRIX)[0])
    assert "APT" not in run_services(plain, [s for s in plain.services if s.framework.own])


def test_an_apps_services_get_its_folder_in_memory_and_what_before_has_changed_and_no_others_do(given: Given) -> None:
    own = with_own_app(MATRIX, describe(given, MATRIX)[0])
    mine = next(s for s in own.services if s.framework.own and s.python == "3.13")
    text = run_services(own, [mine, replace(mine, name="varied", plain=mine.name, settings=Settings({"WORKERS": "2"}))])
    assert [one["extends"]["service"] for one in services_in(text).values()] == ["own-app", "own-app"]
    assert text.endswith(f"\nvolumes: {{{CHANGES}: {{}}}}\n")
    others = run_services(MATRIX, [s for s in MATRIX.services if s.python == "3.13"])
    assert '"service": "app"}' in others and "own-app" not in others and "volumes" not in others
    template = (ROOT / "services/template.yml").read_text().partition("\n  own-app:\n")[2]
    assert "    extends: {service: app}\n    tmpfs: *own\n" in template
    assert f"{{type: volume, source: {CHANGES}, target: /srv/changes, read_only: true, " in template


def test_plan_of_an_app_in_turns_and_with_a_knee_for_p99(given: Given, tmp_path: Path) -> None:
    app, _ = describe(given, MATRIX)
    write_app(tmp_path, app)
    words = [f"--own-app={tmp_path}", "--server", "waitress,cheroot"]
    plan, _, _ = plan_of(parse_selection(words))
    assert [(table.first.scenario, len(table.cells)) for table in plan.tables] == [("get-root", 2)]
    assert not plan.alone
    plan, _, _ = plan_of(parse_selection([*words, "--p99", "50ms"]))
    assert len(plan.tables) == 1 and {cell.level.text for cell in plan.alone} == {"knee-p99-50ms"}
    plan, _, _ = plan_of(parse_selection([*words, "--p99", "50ms", "--level", "64", "--tool", "hey"]))
    assert {(cell.tool, cell.level.text) for cell in plan.alone} == {("vegeta", "knee-p99-50ms")}
    assert [(table.first.tool, table.first.level.text) for table in plan.tables] == [("hey", "c64")]
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
    assert (run / "app/load/get-root/requests.lua").is_file() and (run / "app/load/get-root/headers").is_file()
    facts = json.loads((run / "run.json").read_text())
    assert facts["own_app"]["cpu_hour_price"] == 0.04 and facts["command"] == words[1:]
    services = (run / "services.yml").read_text()
    assert '"target": "own-app"' in services and json.dumps(given.folder) in services
    assert f"{run}/app/locks/py313" in services
    _, own_app = facts_of(facts)
    assert own_app and own_app.app == "main:app"
    # Reports have no path of the machine.
    build_verb(["--quiet", str(run)])
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
    names = ("label", "name", "commit", "head")
    more = {ref: {"mark": f"{ref}-123", "place": f"results/.refs/{ref}", "dirty": False} for ref in ("main", "topic")}
    sides = [dict.fromkeys(names, ref) | facts for ref, facts in more.items()]
    saved = {"repository": "/at", "paths": ["shop"], "changed": ["shop/main.py"], "sides": sides}
    (refs / REFS).write_text(json.dumps(saved))
    return [f"--own-app={tmp_path / 'base'}", f"--own-head={tmp_path / 'head'}", f"--sides={refs}"]


def test_redirects_that_are_expected_are_in_the_plan_and_ab_is_skipped(given: Given, tmp_path: Path) -> None:
    expect = '{"POST /a": {"status": 302}, "GET /b": {"status": 200}}'
    folder = written(tmp_path, {"expect": expect, "targets": "POST /a\n\nGET /b\n"})
    app = describe(replace(given, targets=folder / "targets", expect=folder / "expect"), MATRIX)[0]
    assert [one["request"] for one in app.facts()["targets"]] == ["POST /a → 302", "GET /b"]
    matrix = with_own_app(MATRIX, app)
    redirects = {name: matrix.routes[name].exchange.redirects for name in app.scenarios}
    assert redirects == {"mix": (302,), "post-a": (302,), "get-b": ()}
    write_app(tmp_path, app)
    lines, skips = {}, {}
    for scenario in ("post-a", "get-b"):
        words = [f"--own-app={tmp_path}", "--scenario", scenario, "--tool", "wrk,ab,hey,vegeta", "--level", "c16,r50"]
        made = plan_of(parse_selection([*words, "--server", "waitress,cheroot"]))[0]
        lines[scenario] = {(one.tool, one.exchange.redirects) for one in measurements(made, 1) if one.mode != "null"}
        skips[scenario] = {skip.cause for skip in made.skips if skip.tool == "ab"}
    assert skips == {"post-a": {"ab counts redirects as errors"}, "get-b": set()}
    assert lines["post-a"] == {(tool, (302,)) for tool in ("wrk", "hey", "vegeta")}
    assert lines["get-b"] == {(tool, ()) for tool in ("wrk", "ab", "hey", "vegeta")}
    line = next(one for one in measurements(made, 1) if one.tool == "hey")
    assert planned_of(json.loads(line.to_line())) == line and "redirects" not in line.as_dict()
    moved = replace(line, exchange=replace(line.exchange, redirects=(302,)))
    assert planned_of(json.loads(moved.to_line())) == moved
    assert moved.exchange.is_good(302) and not moved.exchange.is_good(303)


def test_an_app_is_measured_from_both_refs_on_one_server_unless_more_are_named(words: list[str]) -> None:
    options = parse_selection(words)
    plan, _, _ = plan_of(options)
    assert [service.settings.text for service in plan.services] == ["REF=main", "REF=topic"]
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
    services = services_in((run / "services.yml").read_text())
    for ref, side, locks in (("main", "base", "locks"), ("topic", "head", "locks-head")):
        build = services[f"gunicorn-sync-shop-py313-debian-{ref}-123"]["build"]
        contexts = {"app-source": f"/at/{side}/shop", "app-locks": f"{run}/app/{locks}/py313"}
        assert (build["context"], build["additional_contexts"]) == ("services/", contexts)
    assert (run / "app/locks-head").is_dir()
    assert json.loads((run / REFS).read_text())["repository"] == "/at"
    facts = json.loads((run / "run.json").read_text())
    assert facts["command"] == [] and facts["refs"]["head"]["ref"] == "topic"


@pytest.mark.parametrize(("wanted", "pythons", "words"), rows(__file__, "required_pythons"))
def test_requires_python_of_the_app(given: Given, wanted: str, pythons: list[str], words: str) -> None:
    key = "[tool.poetry.dependencies]\npython" if wanted[0] in "^~" else '[project]\nname = "a"\nrequires-python'
    (given.source / "pyproject.toml").write_text(f'{key} = "{wanted}"\n')
    chosen = replace(given, pythons=tuple(pythons))
    if not words:
        assert describe(chosen, MATRIX)[0].pythons == (tuple(pythons) or ("3.13",))
    else:
        with pytest.raises(UserError, match=words):
            describe(chosen, MATRIX)


def test_a_module_may_be_in_what_is_installed_of_the_folder(given: Given) -> None:
    other = replace(given, app="shop:app", interface="wsgi")
    with pytest.raises(UserError, match="has no module 'shop'"):
        describe(other, MATRIX)
    assert describe(replace(other, installed=True), MATRIX)[0].app == "shop:app"


def test_unknown_interface_until_the_app_is_imported(given: Given) -> None:
    env = written(given.source, {"env": "GUNICORN_CMD_ARGS=2\n"}) / "env"
    there = replace(given, app="main:application", variables=env)
    app, by = describe(there, MATRIX)
    assert (app.interface, by, app.variables) == ("", "", ("GUNICORN_CMD_ARGS",))
    with pytest.raises(UserError, match="remove GUNICORN_CMD_ARGS"):
        describe(replace(there, imported="wsgi main.application"), MATRIX)
    app, by = describe(replace(there, variables=None, imported="wsgi main.application"), MATRIX)
    assert (app.interface, by) == ("wsgi", "imported: main.application")


NEWEST = sys.version_info[1]


@pytest.mark.parametrize(("python", "refused"), [(f"3.{NEWEST}", True), ("pypy3.11", True), (f"3.{NEWEST + 1}", False)])
def test_a_syntax_is_refused_where_the_chosen_python_cannot_read_it(given: Given, python: str, refused: bool) -> None:
    (given.source / "main.py").write_text("app = 1\ndef f(:\n")
    chosen = replace(given, pythons=(python,))
    if refused:
        words = rf"main\.py, line 2, is not valid Python {python.removeprefix('pypy')}: .* --python"
        with pytest.raises(UserError, match=words):
            describe(chosen, MATRIX)
    else:
        assert describe(chosen, MATRIX)[0].interface == ""


def test_the_settings_of_gunicorn_are_said_to_be_bypassed(tmp_path: Path) -> None:
    (tmp_path / "gunicorn.conf.py").touch()
    (line,) = left_unread(tmp_path)
    assert line.startswith("gunicorn.conf.py is not used")


@pytest.mark.parametrize(("files", "words"), rows(__file__, "named_pythons"))
def test_another_python_that_the_folder_names_is_said(tmp_path: Path, files: dict[str, str], words: str) -> None:
    found = [*other_python(written(tmp_path, files), ("3.13",), MATRIX.pythons)]
    assert len(found) == bool(words) and all(words in line for line in found)


def test_the_version_that_the_app_requires_of_a_server_is_said_at_its_row(given: Given, tmp_path: Path) -> None:
    app = tmp_path / "app"
    gunicorn = dict(pins_in(LOCKS / "py313/server-gunicorn-sync.txt"))["gunicorn"]
    waitress = dict(pins_in(LOCKS / "py313/server-waitress.txt"))["waitress"]
    for version in ("21.2.0", gunicorn):
        lock = f"flask==3.1\ngunicorn=={version}\nwaitress=={waitress}\n"
        written(app, {"locks/py313/requirements.txt": lock})
        write_app(app, describe(given, MATRIX)[0])
        words = [f"--own-app={app}", "--server", "gunicorn-sync,waitress"]
        facts = json.loads((make_run(parse_selection(words), tmp_path / version) / "run.json").read_text())
        sets = {entry["server"]: entry["notes"].get("sets", "") for entry in facts["services"].values()}
        said = f"gunicorn 21.2.0, which the app requires instead of {gunicorn}"
        assert (said in sets["gunicorn-sync"]) == (version == "21.2.0")
        assert "require" not in sets["waitress"]
