"""services/with_package.py: packages in other versions, and dependencies as of their day; pip and uv are faked."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path, PurePosixPath
from subprocess import CompletedProcess
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from captured import Capture, Patch, refused
from places import ROOT

from bench.run.reader import read_service

LOCK = 'wheels = [{ upload-time = 2021-04-27T12:16:23Z }]\nsdist = { url = "x", upload-time = 2021-03-27T01:54:37Z }'
PYTHON_RELEASED = "2024-10-07"


class Image:
    """An image with packages: what each requires, what pip and imports have against it, and what was run."""

    def __init__(self, script: ModuleType) -> None:
        self.script = script
        self.needs: dict[str, list[str]] = {}
        self.check: Callable[[], Sequence[str]] = list
        self.imports: Callable[[], dict[str, str]] = dict
        self.lock = LOCK
        self.solution = ""
        self.refused: Callable[[str], bool] = lambda call: False
        self.calls: list[str] = []

    def run(self, *argv: str, text: str = "", settings: object = None) -> CompletedProcess[str]:
        call = " ".join([*argv[1:], *text.split()])
        self.calls.append(call)
        if self.refused(call):
            return CompletedProcess(argv, 1, "", "error: Failed to build `x==1`\n  cause: no")
        if call.endswith("pip check"):
            lines = self.check()
            return CompletedProcess(argv, bool(lines), "\n".join(lines), "")
        made = self.lock if "pylock" in call else self.solution if "compile" in call else "a==1\n" * ("freeze" in call)
        return CompletedProcess(argv, 0, made, "")

    @property
    def tries(self) -> list[str]:
        """The calls that changed dependencies."""
        return [call for call in self.calls if call.startswith("pip install --quiet --python")]

    def distributions(self) -> Iterable[Any]:
        return [SimpleNamespace(metadata={"Name": name}, requires=needs) for name, needs in self.needs.items()]

    def changes(self, changed: str, monkeypatch: pytest.MonkeyPatch) -> str:
        """Runs the script; returns packages.txt."""
        monkeypatch.setenv("CHANGED", changed)
        self.script.main()
        return str(self.script.FROZEN.read_text())


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    spec = importlib.util.spec_from_file_location("with_package", ROOT / "services/with_package.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)
    spec.loader.exec_module(script)
    made = Image(script)
    (tmp_path / "wheel/with/2-1").mkdir(parents=True)
    for name, value in {"run": made.run, "failed_imports": lambda names: made.imports()}.items():
        monkeypatch.setattr(script, name, value)
    for name in ("WHEELS", "START", "FROZEN"):
        monkeypatch.setattr(script, name, tmp_path / name.lower().rstrip("s"))
    monkeypatch.setattr(script, "UV", ROOT / "services/uv.txt")
    monkeypatch.setattr(script.metadata, "distributions", made.distributions)
    monkeypatch.setenv("PYTHON_RELEASED", PYTHON_RELEASED)
    return made


def first_then(image: Image, tries: int, error: str, *, known: str = "") -> Callable[[], dict[str, str]]:
    """Imports that fail until dependencies were changed `tries` times; one that failed `known` always does."""

    def failing() -> dict[str, str]:
        installed = any("--force-reinstall" in call for call in image.calls)
        failed = {"app": error} if installed and len(image.tries) < tries else {}
        return failed | ({"old": known} if known else {})

    return failing


def test_packages_that_fit_leave_all_others_as_they_are(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("werkzeug-2.0.3-py3-none-any.whl", "with/2-1/Flask-2.0.2+x-py3-none-any.whl"):
        (image.script.WHEELS / place).touch()
    image.imports = first_then(image, 0, "", known="it never could")
    # The version of a source has a mark that its wheel lacks.
    assert image.changes("werkzeug==2.0.3 flask==2.0.2+x.g1234567", monkeypatch) == "a==1\n"
    (install,) = (call for call in image.calls if "--force-reinstall" in call)
    links = [f"--find-links={image.script.WHEELS}{place}" for place in ("", "/with/2-1")]
    assert {*links, "--no-deps", "--no-index", "werkzeug==2.0.3", "flask==2.0.2+x"} < {*install.split()}
    assert not [call for call in image.calls if "uv" in call]


def test_alpine_installs_from_the_index(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (image.script.WHEELS / "a-1-cp313-cp313-linux_x86_64.whl").touch()
    assert len(image.script.links()) == 1
    monkeypatch.setattr(image.script, "ALPINE", tmp_path)
    assert image.script.links() == []
    image.refused = lambda call: "--no-index" in call
    assert image.changes("a==1", monkeypatch) == "a==1\n"
    image.refused = lambda call: "--force-reinstall" in call
    assert "Failed to build" in str(refused(SystemExit, image.changes, "a==1", monkeypatch))


def test_missing_dependencies_of_a_release(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image.script.FROZEN = tmp_path / "raw/services/a/packages.txt"
    image.script.FROZEN.parent.mkdir(parents=True)
    image.check = lambda: [] if image.tries else ["gunicorn 20.1.0 requires setuptools, which is not installed."]
    assert image.changes("gunicorn==20.1.0", monkeypatch) == "# dependencies as of 2021-03-28\na==1\n"
    facts = read_service(str(tmp_path), "a")
    assert (facts.dependencies_as_of, facts.packages) == ("2021-03-28", {"a": "1"})
    assert next(call for call in image.calls if "--target=" in call).split()[-1].startswith("uv==")
    (call,) = image.tries
    limits = {f"--exclude-newer-package={one}={PYTHON_RELEASED}" for one in ("setuptools", "wheel")}
    assert limits | {"--exclude-newer=2021-03-28", "gunicorn==20.1.0"} < {*call.split()}
    assert "reinstall" not in call


def test_as_few_as_possible_are_changed(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """First what is missing, then what the package asks for, then all that this asks for; never more."""
    image.needs = {"flask": ["Jinja2>=3", "x; extra == 'async'"], "jinja2": ["MarkupSafe"]}
    image.needs |= {"markupsafe": [], "uvicorn": [], "x": []}
    image.imports = first_then(image, 3, "ImportError: no url_quote")
    assert image.changes("Flask==2.0.0", monkeypatch).startswith("# dependencies as of 2021-03-28\n")
    again = [[word.partition("=")[2] for word in call.split() if "reinstall" in word] for call in image.tries]
    assert again == [[], ["jinja2"], ["jinja2", "markupsafe"]]


def test_then_they_are_as_of_this_python_and_of_today(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    for tries, day in ((4, PYTHON_RELEASED), (7, str(date.today()))):
        image.calls.clear()
        image.imports = first_then(image, tries, "ImportError: no")
        assert image.changes("a==1", monkeypatch).startswith(f"# dependencies as of {day}\n")
    assert "exclude-newer" not in image.tries[-1] and f"--exclude-newer={PYTHON_RELEASED}" in image.tries[-2]
    # A source has no day, nor has a release if the index does not tell.
    for changed, lock in (("a==1+g1234567", LOCK), ("a==1", "")):
        image.calls.clear()
        image.lock, image.imports = lock, first_then(image, 1, "ImportError: no")
        assert image.changes(changed, monkeypatch).startswith(f"# dependencies as of {date.today()}\n")
        assert "exclude-newer" not in "".join(image.calls)


def test_imports_that_crash_fit_never(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    image.imports = lambda: {image.script.CRASH: "status -11"}
    image.refused = lambda call: call.startswith("pip install --quiet --python") and "exclude" in call
    with pytest.raises(SystemExit, match=r"as of 2021-03-28: importing them: status -11 .*, nor as of today"):
        image.changes("a==1", monkeypatch)


def test_pkg_resources_is_in_earlier_setuptools(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    image.imports = first_then(image, 1, "ModuleNotFoundError: No module named 'pkg_resources'")
    image.changes("a==1", monkeypatch)
    assert "setuptools<81" in image.tries[0].split()


def test_no_fitting_dependencies_is_an_error_with_its_reason(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    image.imports = lambda: {} if not image.calls else {"a": f"ImportError: {len(image.tries)}"}
    image.refused = lambda call: call.startswith("pip install --quiet --python") and "reinstall" not in call
    assert str(refused(SystemExit, image.changes, "a==1", monkeypatch)) == (
        "a==1 does not fit with dependencies as of 2021-03-28: a: ImportError: 0 (error: Failed to build `x==1`), "
        "nor as of 2024-10-07, nor as of today; choose others: --with NAME==VERSION"
    )


FLASK = "flask 3.1.3 has requirement werkzeug>=3.1.0, but you have werkzeug 2.0.3."


FIXES = [
    ("werkzeug==2.0.3", "flask==2.0.2\nwerkzeug==2.0.3\n", ": add --with flask==2.0.2"),
    ("werkzeug==2.0.3 flask==3.1.3", "flask==2.0.2\n", ": add --with flask==2.0.2"),
    ("Werkzeug==2.0.3", "", ": no flask works with Werkzeug==2.0.3"),
]


@pytest.mark.parametrize(("changed", "solution", "words"), FIXES)
def test_proposed_fix(changed: str, solution: str, words: str, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    image.needs = {"flask": ["werkzeug>=3.1"], "werkzeug": ["markupsafe"], "markupsafe": []}
    image.check, image.solution = lambda: [FLASK], solution
    assert str(refused(SystemExit, image.changes, changed, monkeypatch)) == FLASK.rstrip(".") + words
    asked = next(call for call in image.calls if "--no-annotate" in call).split()
    # Flask may have any version, even if it is one of those that were changed.
    assert asked[-2:] == [changed.split(maxsplit=1)[0], "flask"] and "--exclude-newer=2021-03-28" in asked
    assert not image.tries


def test_who_objects_and_is_no_longer_needed_is_removed(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quart 0.15 does not need Flask, which the version before it had brought."""
    before = {"quart": ["flask", "werkzeug"], "flask": ["werkzeug"], "werkzeug": []}
    image.needs = dict(before)

    def check() -> list[str]:
        image.needs = before | {"quart": ["werkzeug"]}
        return [] if any("uninstall" in call for call in image.calls) else [FLASK]

    image.check = check
    assert image.changes("quart==0.15.0", monkeypatch) == "a==1\n"
    assert "-m pip uninstall --yes flask" in image.calls


def test_modules_and_the_program_that_starts_the_server_are_imported(
    image: Image, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    image.script.START.write_text("exec my-server --bind x\n")
    files = ["good_one.py", "broken.py", "README.md", "_x.pth"]
    files += ["my.dist-info/METADATA", "deep/module.py", "leaves/__init__.py"]
    code = {"broken.py": "import nowhere", "leaves/__init__.py": "raise SystemExit(3)"}
    for name in ("good_one.py", "broken.py", "cli.py", "leaves/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code.get(name, ""))
    monkeypatch.syspath_prepend(str(tmp_path))
    programs = [EntryPoint(name, f"cli:{name[:2]}", "console_scripts") for name in ("my-server", "my-other")]

    def package(name: str, requires: list[str], files: list[str], programs: Sequence[EntryPoint] = ()) -> Any:
        own = {"requires": requires, "files": [*map(PurePosixPath, files)], "entry_points": programs}
        return SimpleNamespace(metadata={"Name": name}, **own)

    mine = package("My.Server", [], files, programs)
    packages = [mine, package("user", ["my_server>1"], ["user_.py"]), package("else", ["x"], ["else_.py"])]
    monkeypatch.setattr(image.script.metadata, "distributions", lambda: packages)
    image.script.try_imports(["my-server"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {
        "broken": "ModuleNotFoundError: No module named 'nowhere'",
        "leaves": "SystemExit: 3",
        "my-server": "AttributeError: module 'cli' has no attribute 'my'",
        "user_": "ModuleNotFoundError: No module named 'user_'",
    }
