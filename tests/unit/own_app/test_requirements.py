"""What an app requires, from whichever of its files says so, with its lock and the packages of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import LOCKS
from tables import rows
from text_files import written

from bench.core.errors import UserError
from bench.own_app.metadata import specifier
from bench.own_app.requirements import Requirements, Workspace, requirements_of, source_notes

PROJECT = "[project]\nname = 'x'\ndependencies = ['flask']\n"
TOOLS = "[tool.ruff]\nline-length = 99\n"
OUTSIDE = r"'.*' is outside of the app's folder: put its wheel into that \(pip wheel"
WHEEL = "wheels/core-1.0-py3-none-any.whl"
POETRY = "[tool.poetry.dependencies]\n"
POETRY_DEV = "[tool.poetry.group.dev.dependencies]\n"
DYNAMIC = "[project]\nname = 'x'\ndynamic = ['dependencies']\n"
PACKAGED = "[build-system]\nrequires = ['setuptools']\n"
HASHED = "flask==3.1 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n    # via -r x\n\n-r more.txt\n"


def required(folder: Path, files: dict[str, str]) -> Requirements:
    return requirements_of(written(folder, files), None, "")


def projects(found: Requirements) -> list[str]:
    """Lines such as `. needed [a]`, without hashes."""
    lines = [line.split("\t") for line in found.files()["projects.txt"].splitlines()]
    return [" ".join(filter(None, (place, need, extras))) for place, need, _, extras in lines]


FILES = [
    ({}, ""),
    ({"requirements.txt": HASHED, "more.txt": "gunicorn  # why\n"}, "flask==3.1\ngunicorn\n"),
    ({"requirements.txt": "-i https://pypi.org/simple\nflask\n", "pyproject.toml": TOOLS}, "flask\n"),
    ({"pyproject.toml": PROJECT}, "flask\n"),
    ({"pyproject.toml": TOOLS, "Pipfile": "[packages]\nflask = '*'\n[dev-packages]\npytest = '*'\n"}, "flask\n"),
    ({"pyproject.toml": f"{POETRY}python = '^3.11'\nflask = '^2.3'\n{POETRY_DEV}x = '*'"}, "flask<3,>=2.3\n"),
    ({"pyproject.toml": f"{DYNAMIC}{POETRY}a = '~1.2'\n"}, "a<1.3,>=1.2\n"),
    # Constraints of the app's own.
    (
        {"requirements.txt": "flask\n-c all.txt\n", "all.txt": "pywin32==306\n-r more.txt\n", "more.txt": "x==1\n"},
        "-c .constraints.txt\nflask\n",
    ),
]


@pytest.mark.parametrize(("files", "found"), FILES)
def test_requirements_are_found(tmp_path: Path, files: dict[str, str], found: str) -> None:
    assert required(tmp_path, files).files()["requirements.in"] == found
    if "all.txt" in files:
        assert required(tmp_path, files).files()[".constraints.txt"] == "pywin32==306\nx==1\n"


UNLOCKABLE = [
    ("-e git+https://github.com/a/b#egg=b", "neither a release nor in the app's folder: images are built from"),
    ("-r requirements.txt", "includes itself"),
    ("-r no.txt", "cannot read the requirements in no.txt"),
    ("-r /dev/zero", "it is outside of its folder"),
    ("-c ../x.txt", "it is outside of its folder"),
    ("-r link", "it is outside of its folder"),
    ("--requirement a/../link", "it is outside of its folder"),
    ("--extra-index-url https://example.org/simple\ntorch", "'--extra-index-url' is not supported"),
    ("-i https://example.org/simple\ntorch", "'-i' is not supported"),
    *((line, OUTSIDE) for line in ("-e ..", "../core[x]", "/srv/core", "-e file:///srv/core", "./link")),
    # Not even if it is in the folder.
    ("-e {folder}/a", OUTSIDE),
    ("-e ./core", "the app's folder has no 'core'"),
]


@pytest.mark.parametrize(("text", "words"), UNLOCKABLE)
def test_requirements_that_cannot_be_locked(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")
    with pytest.raises(UserError, match=words):
        required(tmp_path, {"requirements.txt": f"{text.format(folder=tmp_path)}\n", "a/setup.py": ""})


VERSIONS = {"^1.2.3": ">=1.2.3,<2", "^0.2.3": ">=0.2.3,<0.3", "^0.0.3": ">=0.0.3,<0.0.4", "^0.0": ">=0.0,<0.1"}
VERSIONS |= {"^0": ">=0,<1", "~1.2.3": ">=1.2.3,<1.3", "~1.2": ">=1.2,<1.3", "~1": ">=1,<2", "~=1.4.2": "~=1.4.2"}
VERSIONS |= {"*": "", "3.*": "==3.*", "3.0": "==3.0", ">=1.0 <2.0": ">=1.0,<2.0", ">= 3.8, != 3.9.*": ">=3.8,!=3.9.*"}


@pytest.mark.parametrize(("text", "found"), VERSIONS.items())
def test_versions_of_poetry_are_those_of_pip(text: str, found: str) -> None:
    assert sorted(specifier(text).split(",")) == sorted(found.split(","))


def test_entries_of_poetry_and_pipenv(tmp_path: Path) -> None:
    text = """
    [tool.poetry.dependencies]
    python = "^3.9"
    uvicorn = { version = "^0.30", extras = ["standard"] }
    psycopg2 = { version = "*", optional = true }
    numpy = [{ version = "^1.24", python = "<3.12" }, { version = "^2.0", python = "^3.12" }]
    pywin32 = { version = ">=300", markers = "os_name == 'nt'", platform = "win32" }
    """
    assert required(tmp_path, {"pyproject.toml": text}).lines == [
        "uvicorn[standard]<0.31,>=0.30",
        'numpy<2,>=1.24; python_full_version < "3.12"',
        'numpy<3,>=2.0; python_full_version < "4" and python_full_version >= "3.12"',
        'pywin32>=300; os_name == "nt" and sys_platform == "win32"',
    ]


@pytest.mark.parametrize(("entry", "words"), rows(__file__, "entries"))
def test_entries_of_poetry_that_are_refused(tmp_path: Path, entry: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        required(tmp_path, {"pyproject.toml": f"[tool.poetry.dependencies]\na = {entry}\n", "a/setup.py": ""})


PLACES = ("uv.lock", "poetry-1.lock", "poetry-2.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
UV, POETRY_1, POETRY_2, PDM, PIPFILE, PYLOCK = ((LOCKS / f"{name}.txt").read_text() for name in PLACES)
"""Locks with what their tools write, but with one line for each package."""
MEASURED = "the versions of {} are measured"
BUT_NUMPY = ", except for numpy (2 versions) and core (from directory)"
OLD, NEW = 'python_version < "3.9"', 'python_version >= "3.9"'
NUMPIES = (
    'numpy==2.2.6; (python_full_version < "3.11" and python_version >= "0") or sys_platform == "win32"',
    'numpy==2.3.0; python_full_version >= "3.11"',
)


LOCKED = [
    ("uv.lock", UV, ["flask==3.0.0", *NUMPIES], ", except for core (from editable) and fork (from git)"),
    ("poetry.lock", POETRY_1, ["Flask==3.0.0", "mirrored==4"], BUT_NUMPY),
    ("poetry.lock", POETRY_2, [f"numpy==1.24.4; {OLD}", f"numpy==2.0.0; {NEW}"], ""),
    ("pdm.lock", PDM, ["uvicorn==0.30.1"], ""),
    ("Pipfile.lock", PIPFILE, ["flask==3.0.0", "uvicorn==0.30.1", "pytest==8.0.0"], ""),
    ("pylock.toml", PYLOCK, ["flask==3.0.0", "pytest==8.0.0"], ""),
]


@pytest.mark.parametrize(("name", "text", "constraints", "but"), LOCKED)
def test_locked_versions_are_measured(tmp_path: Path, name: str, text: str, constraints: list[str], but: str) -> None:
    for source, requirements in (("requirements.txt", "flask\n"), ("pyproject.toml", PROJECT)):
        found = required(tmp_path / source, {source: requirements, name: text})
        assert found.files()["requirements.in"] == "-c .constraints.txt\nflask\n"
        assert found.files()[".constraints.txt"].splitlines() == [f"# {name}", *constraints]
        assert found.notes == [MEASURED.format(name) + but]


def test_with_a_file_of_its_own_no_lock_is_used(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": PROJECT, "uv.lock": UV, "mine.txt": "django\n"})
    found = requirements_of(tmp_path, tmp_path / "mine.txt", "mine.txt")
    assert (found.lines, found.constraints, found.notes) == (["django"], [], [])


def test_one_lock_is_used_and_the_packages_of_the_folder_are_no_exception_to_it(tmp_path: Path) -> None:
    files = {"requirements.txt": "-e .\n-e ./packages/core\nnumpy\n", "packages/core/pyproject.toml": PROJECT}
    found = required(tmp_path, files | {"uv.lock": UV, "poetry.lock": POETRY_1})
    assert found.notes == [MEASURED.format("uv.lock") + ", except for fork (from git)"]
    assert projects(found) == [". needed", "packages/core needed"]


FLASK = {"requirements.txt": "flask\n"}
UNREAD = r"cannot read (uv|Pipfile)\.lock: .*: give --requirements FILE"
NOT_ONE = "is not a requirement of a package"
FROM_GIT = '{"default": {"a": {"git": "https://example.org/a", "ref": "b"}}}'
FROM_VCS = 'packages = [{name = "a", vcs = {type = "git", url = "https://example.org/a"}}]'


UNUSABLE = [
    *((FLASK | {"uv.lock": text}, UNREAD) for text in ("<<<<<<< HEAD\n", "a = " + "[" * 9999)),
    *((FLASK | {"Pipfile.lock": text}, UNREAD) for text in ("[]", "{")),
    # Nothing can become an option of the resolver.
    ({"pyproject.toml": PROJECT.replace("flask", "-r /etc/passwd")}, NOT_ONE),
    ({"pyproject.toml": PROJECT.replace("'flask'", r'"flask\n-e /"')}, NOT_ONE),
    (FLASK | {"uv.lock": 'package = [{name = "-r x", version = "1"}]'}, NOT_ONE),
    (FLASK | {"uv.lock": r'package = [{name = "a\n-r x", version = "1"}]'}, NOT_ONE),
    (FLASK | {"uv.lock": r'package = [{name = "a", version = "1\n-r x"}]'}, NOT_ONE),
    ({"Pipfile.lock": FROM_GIT}, "Pipfile.lock: a comes from git: images are built from one package index"),
    ({"pylock.toml": FROM_VCS}, "pylock.toml: a comes from vcs: images are built from one package index"),
    ({"pyproject.toml": TOOLS}, r"toml has no \[project\] with dependencies: give --requirements FILE"),
]


@pytest.mark.parametrize(("files", "words"), UNUSABLE)
def test_a_file_that_cannot_be_used_is_not_passed_over(tmp_path: Path, files: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        required(tmp_path, files)


def test_a_lock_can_itself_be_the_requirements(tmp_path: Path) -> None:
    pipfile = {"Pipfile": "[packages]\nflask = '*'\n", "Pipfile.lock": PIPFILE}
    found = required(tmp_path, pipfile)
    assert found.lines == ['flask==3.0.0; python_version >= "3.8"', "uvicorn[standard]==0.30.1"]
    assert (found.constraints, found.notes, projects(found)) == ([], [MEASURED.format("Pipfile.lock")], [". needed"])
    found = requirements_of(written(tmp_path / "b", {"pylock.toml": PYLOCK}), None, "")
    assert found.lines == [
        'flask==3.0.0; python_version >= "3.9" and python_version >= "0"',
        'pytest==8.0.0; python_version < "0" or python_version >= "0" and python_version < "3"',
    ]
    assert (found.notes, projects(found)) == ([MEASURED.format("pylock.toml")], [". needed"])


CORE = "{ path = 'core', develop = true, extras = ['x'] }"
NESTED = {
    "pyproject.toml": PROJECT.replace("['flask']", "['core[x]>=1', 'lib', 'flask']")
    + "[tool.uv.sources]\ncore = { path = 'core' }\nlib = { workspace = true }\nunused = { git = 'x' }\n"
    + "[tool.uv.workspace]\nmembers = ['packages/*']\n",
    "core/pyproject.toml": PROJECT.replace("flask", "deep") + "[tool.uv.sources]\ndeep = { path = '../deep' }\n",
    "deep/pyproject.toml": PROJECT,
    "packages/b/pyproject.toml": "[project]\nname = 'Lib'\n",
}


INSTALLED = [
    # As pip names the app itself, with its extras and without.
    *(
        ({"requirements.txt": f"{line}\ngunicorn\n", "setup.py": "setup()"}, ["gunicorn"], [f". needed{extras}"])
        for line, extras in {
            **dict.fromkeys((".", "-e .", "--editable=.", "-e file:.", "./"), ""),
            **{".[prod]": " [prod]", "-e .[prod,db-x]  # all": " [db-x,prod]", '-e ".[prod, db]"': " [db,prod]"},
        }.items()
    ),
    ({"requirements.txt": f".\n./{WHEEL}\n", WHEEL: ""}, [], [". needed", f"{WHEEL} needed"]),
    # What the app is made of is installed, too, if it can be.
    ({"pyproject.toml": PROJECT}, ["flask"], [". wanted"]),
    ({"requirements.txt": "flask\n", "pyproject.toml": PROJECT + PACKAGED}, ["flask"], [". wanted"]),
    ({"requirements.txt": "-e .[a]\n", "pyproject.toml": PROJECT + PACKAGED}, [], [". needed [a]"]),
    ({"requirements.txt": "flask\n", "setup.py": "from setuptools import setup\nsetup()"}, ["flask"], []),
    ({"requirements.txt": "flask\n", "pyproject.toml": TOOLS}, ["flask"], []),
    ({"pyproject.toml": PROJECT + "[tool.uv]\npackage = false\n"}, ["flask"], []),
    ({"pyproject.toml": f"{PACKAGED}[tool.poetry]\npackage-mode = false\n{POETRY}a = '1'\n"}, ["a==1"], []),
    # Only a build tells these requirements.
    ({"pyproject.toml": "[project]\nname = 'x'\ndynamic = ['version', 'dependencies']\n"}, [], [". needed"]),
    ({"pyproject.toml": PACKAGED, "setup.cfg": "[options]\ninstall_requires = flask\n"}, [], [". needed"]),
    ({"setup.py": "import setuptools\nsetuptools.setup(install_requires=['flask'])"}, [], [". needed"]),
    ({"pyproject.toml": TOOLS, "setup.py": "setup(install_requires=['flask'])"}, [], [". needed"]),
    ({"setup.py": "print('prepares the database')"}, [], []),
    # Packages of the folder that tools know by their place, and those that these take from it.
    ({"pyproject.toml": f"{POETRY}core = {CORE}\n", "core/setup.py": ""}, [], ["core needed [x]"]),
    (NESTED, ["flask"], ["core needed [x]", "deep needed", "packages/b needed", ". wanted"]),
]


@pytest.mark.parametrize(("files", "lines", "found"), INSTALLED)
def test_installed_folder_packages(tmp_path: Path, files: dict[str, str], lines: list[str], found: list[str]) -> None:
    read = required(tmp_path, files)
    assert (read.lines, projects(read)) == (lines, found)


@pytest.mark.parametrize(("source", "words"), rows(__file__, "elsewhere"))
def test_packages_from_elsewhere_are_not_looked_up_in_the_index(tmp_path: Path, source: str, words: str) -> None:
    for table in ("[tool.uv.sources]", "[tool.poetry.dependencies]"):
        if table == "[tool.uv.sources]" or "path" in source or "git" in source:
            text = PROJECT.replace("flask", "six") + f"{table}\nsix = {source}\n"
            with pytest.raises(UserError, match=f"pyproject.toml: .*{words}"):
                required(tmp_path, {"pyproject.toml": text})


def test_what_a_package_is_built_from_changes_the_list_that_a_repeated_run_compares(tmp_path: Path) -> None:
    before = required(tmp_path, {"setup.py": "setup(install_requires=['flask'])"}).files()
    assert required(tmp_path, {"main.py": "x = 1"}).files() == before
    assert required(tmp_path, {"setup.py": "setup(install_requires=['django'])"}).files() != before


def test_a_given_file_without_requirements_is_not_taken_for_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"other.toml has no \[project\]"):
        requirements_of(tmp_path, written(tmp_path, {"other.toml": TOOLS}) / "other.toml", "other.toml")


@pytest.mark.parametrize(("files", "words"), rows(__file__, "named"))
def test_where_the_requirements_are_from_is_said(tmp_path: Path, files: dict[str, str], words: str) -> None:
    assert [*source_notes(required(tmp_path, files))] == [words]


WORKSPACE = "[tool.uv.workspace]\nmembers = ['backend', 'packages/*']\nexclude = ['packages/old']\n"


@pytest.mark.parametrize(
    ("place", "lock"),
    [
        ("backend", "../uv.lock"),
        ("packages/a", "../../uv.lock"),
        *((other, "") for other in ("packages/old", "packages/a/b", "frontend", "x/backend")),
    ],
)
def test_a_member_of_a_workspace_has_its_lock(tmp_path: Path, place: str, lock: str) -> None:
    root = written(tmp_path, {"pyproject.toml": WORKSPACE, "uv.lock": UV, f"{place}/pyproject.toml": PROJECT})
    found = requirements_of(root / place, None, "", Workspace(root, place))
    # Other members of the workspace have places in its lock, and are no packages that it lacks.
    assert found.notes == ([f"{MEASURED.format(lock)}, except for fork (from git)"] if lock else [])
    assert found.constraints[:2] == ([f"# {lock}", "flask==3.0.0"] if lock else [])
    # A file that is given, and a lock of its own, come first.
    given = written(tmp_path, {"other.txt": "flask\n"}) / "other.txt"
    assert requirements_of(root / place, given, "other.txt", Workspace(root, place)).constraints == []
    written(root / place, {"uv.lock": UV})
    own = requirements_of(root / place, None, "", Workspace(root, place))
    assert own.constraints[0] == "# uv.lock"


def test_of_a_workspace_itself_a_member_is_named(tmp_path: Path) -> None:
    files = {"pyproject.toml": WORKSPACE, "uv.lock": UV, "packages/a/pyproject.toml": PROJECT, "packages/no/x": ""}
    with pytest.raises(UserError, match=r": it is a workspace: give the folder of a member, such as packages/a$"):
        required(tmp_path, files)
    with pytest.raises(UserError, match=r"cannot read \.\./uv\.lock"):
        folder = written(tmp_path, {"uv.lock": "<", "backend/pyproject.toml": PROJECT}) / "backend"
        requirements_of(folder, None, "", Workspace(tmp_path, "backend"))
