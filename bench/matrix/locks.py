"""Writes the locks (pins with hashes) of every server, framework and driver set on every Python, and of the project.

scripts/lock.sh runs it in services/, with `uv` on PATH. Each requirements.txt becomes locks/pyXYZ/KIND-NAME.txt for
every Python that has a service with it. A lock is complete by itself. It uses the versions of the locks made before it
(drivers, then frameworks, then the servers that host them), so that the layers of an image agree.

locks/pyXYZ/musl.txt says which pins have a musl wheel. It has the pip options with which alpine.Dockerfile installs
each lock, so that only packages without such a wheel are built from source, and a comment with the answer for every
pin. Known answers are kept; scripts/lock.sh --upgrade asks the index again.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.matrix.model import Matrix, python_image, python_label
from bench.matrix.packages import pins_in, with_package

LOCKS = Path("locks")
COMPILE = ("uv", "pip", "compile", "--quiet")
LOCK = ("--generate-hashes", "--no-header", "--no-annotate")

PROJECT = ("bench", "tests")
"""Folders with a requirements.in of the project itself; each uses the versions of those before it."""
PROJECT_PYTHON = "3.13"

MUSL = "musl.txt"
MUSL_HEADER = """\
# Written by scripts/lock.sh, which asked for a wheel for musl, or for any platform, of every pin here.
# What has none is built from its source, and nothing else is.
--only-binary :all:
"""
ANSWER = re.compile(r"^# (\S+==\S+): (wheel|source|neither)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file: its name without .txt, the text of its requirements, and the locks that constrain it."""

    name: str
    requirements: str
    constraints: tuple[str, ...]


def needs(matrix: Matrix, python: str) -> tuple[list[str], list[str], list[str]]:
    """What is locked for a Python: (servers and frameworks that have a service on it, packages of presets)."""
    services = [s for s in matrix.services if s.python == python and not s.skip]
    packages = {
        package
        for preset in matrix.presets.values()
        for package in preset.packages
        if any(s.stack in preset.stacks and not with_package(matrix, s, package).skip for s in services)
    }
    servers, folders = {s.server.name for s in services}, {s.framework.name for s in services}
    folders |= {f.folder for f in matrix.selftests.values()} if python == matrix.default_python else set()
    return sorted(servers), sorted(folders), sorted(packages)


def locks(matrix: Matrix, python: str) -> Iterator[Lock]:
    """The locks of one Python, each after those that constrain it."""
    servers, folders, packages = needs(matrix, python)
    common = sorted(Path("common").glob("*.txt"))
    drivers = tuple(f"common-{path.stem.removeprefix('requirements-')}" for path in common)
    # Driver sets never share an image but must agree, or services would be compared on two versions of SQLAlchemy.
    for index, path in enumerate(common):
        yield Lock(drivers[index], path.read_text(encoding="utf-8"), drivers[:index])
    for name in folders:
        text = Path(f"frameworks/{name}/requirements.txt").read_text(encoding="utf-8")
        yield Lock(f"framework-{name}", text, drivers)
    for name in servers:
        text = Path(f"servers/{name}/requirements.txt").read_text(encoding="utf-8")
        frameworks = (f"framework-{hosted}" for hosted in matrix.hosted(name, python))
        yield Lock(f"server-{name}", text, (*drivers, *frameworks))
    # Installed on top of the other locks, it brings its own dependencies.
    for package in packages:
        yield Lock(f"package-{package}", package, ())


def relock(matrix: Matrix, python: str, names: Sequence[str], check: bool, upgrade: bool) -> list[str]:
    """Write the locks of one Python and return the paths of those that were out of date.

    `names`: only these (empty: all); `check`: write nothing. CalledProcessError if uv finds no solution, which it
    explains on stderr.
    """
    kept = LOCKS / python_label(python)
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        for lock in locks(matrix, python):
            seed = kept / f"{lock.name}.txt"
            if seed.exists():
                # uv keeps its pins as far as they still satisfy the requirements.
                (made / seed.name).write_bytes(seed.read_bytes())
            if not names or lock.name.partition("-")[2] in names:
                _compile(lock, python, made, upgrade)
        if any(s.base == "alpine" for s in matrix.services if s.python == python and not s.skip):
            before = Path("none") if upgrade else kept / MUSL
            (made / MUSL).write_text(musl_answers(made, python, before), encoding="utf-8")
        ours, theirs = ({path.name: path.read_bytes() for path in folder.glob("*.txt")} for folder in (made, kept))
    stale = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    for name in () if check else stale:
        (kept / name).unlink(missing_ok=True)
        if name in ours:
            (kept / name).write_bytes(ours[name])
    return [f"{kept}/{name}" for name in stale]


def _compile(lock: Lock, python: str, folder: Path, upgrade: bool) -> None:
    """Write `folder`/NAME.txt; unless `upgrade`, pins in it that still satisfy the requirements are kept."""
    # If metadata must be built, the running Python builds it: no other is downloaded.
    image, version = python_image(python)
    argv = [*COMPILE, *LOCK, "--no-python-downloads", "--python-version", version]
    if image == "pypy":
        # --universal keeps environment markers: CPython cannot evaluate them for PyPy. PyPy ships the two packages.
        argv += ["--universal", "--no-emit-package", "cffi", "--no-emit-package", "greenlet"]
    else:
        argv += ["--python-platform", "x86_64-unknown-linux-gnu"]
    for name in lock.constraints:
        argv += ["--constraint", str(folder / f"{name}.txt")]
    argv += ["--upgrade"] if upgrade else []
    out = folder / f"{lock.name}.txt"
    subprocess.run([*argv, "--output-file", str(out), "-"], input=lock.requirements, text=True, check=True)


def relock_project(root: Path, check: bool, upgrade: bool) -> list[str]:
    """Lock the project's own FOLDER/requirements.in as FOLDER/requirements.txt; returns those out of date."""
    stale: list[str] = []
    constraints: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        for folder in PROJECT:
            kept, lock = root / folder / "requirements.txt", Path(made, f"{folder}.txt")
            if not upgrade:
                lock.write_bytes(kept.read_bytes())
            argv = [*COMPILE, "--universal", *LOCK, "--python-version", PROJECT_PYTHON, *constraints]
            subprocess.run([*argv, "--output-file", str(lock), str(kept.with_suffix(".in"))], check=True)
            constraints += ["--constraint", str(lock)]
            if lock.read_bytes() != kept.read_bytes():
                stale.append(f"{folder}/{kept.name}")
                if not check:
                    kept.write_bytes(lock.read_bytes())
    return stale


def musl_answers(folder: Path, python: str, kept: Path) -> str:
    """The text of musl.txt for the locks in `folder`; answers in the file `kept` are not asked for again."""
    pins = sorted({"==".join(pin) for lock in folder.glob("*-*.txt") for pin in pins_in(lock)})
    known = dict(ANSWER.findall(kept.read_text(encoding="utf-8"))) if kept.exists() else {}
    new = [pin for pin in pins if pin not in known]
    known |= dict.fromkeys(new, "wheel")
    known |= {pin: "source" if _has_source(pin) else "neither" for pin in _without_wheel(new, python)}
    return musl_text({pin: known[pin] for pin in pins})


def musl_text(answers: Mapping[str, str]) -> str:
    """The text of musl.txt for these answers."""
    names = sorted({pin.partition("==")[0] for pin, answer in answers.items() if answer != "wheel"})
    options = "".join(f"--no-binary {name}\n" for name in names)
    return MUSL_HEADER + options + "".join(f"# {pin}: {answer}\n" for pin, answer in answers.items())


def _without_wheel(pins: Sequence[str], python: str) -> Iterable[str]:
    """The pins without a musl wheel: asks for all at once, and bisects if that fails.

    Two versions of a package in one query also fail.
    """
    if not pins or _have_wheels(pins, python):
        return []
    half = len(pins) // 2
    return [*_without_wheel(pins[:half], python), *_without_wheel(pins[half:], python)] if half else pins


def _have_wheels(pins: Sequence[str], python: str) -> bool:
    argv = [*COMPILE, "--no-deps", "--only-binary", ":all:", "--no-python-downloads", "--python-version", python]
    argv += ["--python-platform", "x86_64-unknown-linux-musl", "-"]
    done = subprocess.run(argv, input="\n".join(pins), capture_output=True, text=True, check=False)
    # Any other failure, such as an unreachable index, must not count as "no wheel".
    if done.returncode and "No solution found" not in done.stderr:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    return done.returncode == 0


def _has_source(pin: str) -> bool:
    name, _, version = pin.partition("==")
    argv = [sys.executable, "-m", "pip", "index", "versions", "--no-binary", ":all:", "--pre", name]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return listed is not None and version in listed[1].split(", ")
