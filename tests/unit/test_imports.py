"""Imports point down the list of packages, and there are no cycles; what is about one event is in its folder."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from places import ROOT

from bench.events import NAMES

STAGES = {"cases": "plan", "load": "load", "figures": "records", "words": "words", "known": "known"}
"""Where the modules of an event belong."""
ALSO_WORDS = {
    "connections": "of a load, on the command line of a tool, and the limit of a server",
    "memory": "the limit of a container",
    "stop": "a check of the contract",
}
"""Names of events that mean something else in modules that are not about events."""
PROBE = ("bench.load.event", "connections")
"""The key of the connections with which a capacity was measured."""
FINDER = "bench.render.finder"
"""What a reader asks the finder: who keeps connections, and who loses nothing at a reload."""
ORDER = (
    *("known", "cli", "render", "export", "words", "schedule", "load", "analysis", "stats", "validity", "records"),
    *("run", "plan", "own_app", "exchange", "contract", "matrix", "tools", "core"),
)


@cache
def modules() -> dict[str, Path]:
    found = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in (ROOT / "bench").rglob("*.py")}
    tops = ("bench.__init__", "bench.__main__")
    return {name.removesuffix(".__init__"): path for name, path in found.items() if name not in tops}


def named(path: Path) -> set[str]:
    """The names that a file imports, at the top or inside a function, and the modules that they are imported from."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@cache
def imported(path: Path) -> set[str]:
    """The project's modules that a file imports."""
    names = named(path)
    # Both sides use the messages, and resolve paths alike.
    others = {name for name in names if not name.startswith(("driver.messages", "driver.files"))}
    outside = {name for name in others if name.partition(".")[0] in ("tests", "calibration", "driver")}
    return (names & modules().keys()) | outside


def test_the_driver_imports_nothing_of_what_runs_in_containers() -> None:
    assert [path.name for path in (ROOT / "driver").rglob("*.py") if imported(path) & modules().keys()] == []


def test_imports_point_down_and_never_in_a_circle() -> None:
    graph = {name: imported(path) for name, path in modules().items()}
    assert len(graph) > 90
    upward = [
        f"{name} -> {other}"
        for name, others in graph.items()
        for other in others
        if not (part(name) == "known" and other.startswith("calibration.checks"))
        if not other.startswith("bench.") or place(name) > place(other) or (place(name) and place(other) == 0)
    ]
    assert upward == []
    list(TopologicalSorter({name: others - {name, package(name)} for name, others in graph.items()}).static_order())


def test_what_is_of_an_event_is_in_its_folder_and_imports_no_other_event() -> None:
    of_events = {name: path for name, path in modules().items() if name.startswith("bench.events.")}
    assert {name.split(".")[2] for name in of_events} == {name.replace("-", "_") for name in NAMES}
    for name, path in of_events.items():
        event, *stage = name.split(".")[2:]
        assert {*stage} <= STAGES.keys(), name
        assert [other for other in imported(path) & of_events.keys() if other.split(".")[2] != event] == [], name


def test_no_other_module_names_an_event() -> None:
    literals = [
        (name, node.value)
        for name, path in modules().items()
        if not name.startswith("bench.events") and name != FINDER
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in NAMES
    ]
    assert PROBE in literals
    assert [one for one in literals if one[1] not in ALSO_WORDS or ("event" in one[0] and one != PROBE)] == []


def test_the_drivers_modules_import_each_other_in_no_circle() -> None:
    files = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in (ROOT / "driver").rglob("*.py")}
    # Its verbs are imported by name.
    found = {name: {one for one in named(path) if one in files} for name, path in files.items()}
    assert len(found) > 40 and sum(map(len, found.values())) > 200
    list(TopologicalSorter(found).static_order())


def test_nothing_that_decides_imports_words() -> None:
    graph = {name: imported(path) for name, path in modules().items()}
    edges = [(part(name), part(other), f"{name} -> {other}") for name, others in graph.items() for other in others]
    speaks = {"cli", "render", "export"}
    assert [edge for one, other, edge in edges if other == "words" and one not in {"words", *speaks}] == []
    assert [edge for one, other, edge in edges if one == "words" and other in speaks] == []


def test_what_is_started_between_two_windows_imports_no_words_no_load_and_no_other_machines() -> None:
    show = "import sys, {}; print(*sys.modules)"
    planner, driver = (
        subprocess.check_output([sys.executable, "-c", show.format(name)], cwd=ROOT, text=True).split()
        for name in ("bench.cli.steps", "driver.steps.measure, driver.engines.local")
    )
    slow = ("bench.words", "bench.load.turns", "http", "ssl", "numpy", "scipy")
    assert [name for name in planner if name.startswith(slow)] == []
    slow = ("driver.nodes.loadgen", "multiprocessing", "tarfile")
    assert [name for name in driver if name.startswith(slow)] == []


def part(name: str) -> str:
    """The package of a module, which a module of an event shares with all others of its stage."""
    _, package, *names = name.split(".")
    if package == "events":
        return STAGES[names[1]] if names[1:] else "core"
    return package


def place(name: str) -> int:
    return ORDER.index(part(name))


def package(name: str) -> str:
    return name.rpartition(".")[0]
