"""Pins the dependencies of every server, framework and driver set, with hashes, for every Python of the matrix.

Runs in services/ with `uv` on PATH, by scripts/lock.sh. Each requirements.txt becomes locks/pyXYZ/KIND-NAME.txt for
every Python that has a service with it. A lock is complete in itself and takes the versions of the locks made before
it (drivers, then frameworks, then the servers that host them), so that the layers of one image agree.
locks/pyXYZ/musl.txt says which pins have a musl wheel.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.matrix import musl
from bench.matrix.model import Matrix
from bench.matrix.packages import with_package
from bench.matrix.service import python_image, python_label

LOCKS = Path("locks")


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file: its name without .txt, the text of its requirements, and the locks that constrain it."""

    name: str
    requirements: str
    constraints: tuple[str, ...]

    @property
    def owner(self) -> str:
        """The server, framework, driver set or package that it pins."""
        return self.name.partition("-")[2]


def needs(matrix: Matrix, python: str) -> tuple[list[str], list[str], list[str]]:
    """What is locked for a Python: (servers with a service on it, frameworks with one, packages of presets)."""
    services = [s for s in matrix.services if s.python == python and not s.skip]
    packages = {
        package
        for preset in matrix.presets.values()
        for package in preset.packages
        if any(s.stack in preset.stacks and not with_package(matrix, s, package).skip for s in services)
    }
    own = [f.folder for f in matrix.selftests.values()] if python == matrix.default_python else []
    return (
        sorted({s.server.name for s in services}),
        sorted({s.framework.name for s in services} | set(own)),
        sorted(packages),
    )


def locks(matrix: Matrix, python: str) -> Iterator[Lock]:
    """The locks of one Python, each after those that constrain it."""
    servers, folders, packages = needs(matrix, python)
    drivers = tuple(f"common-{path.stem.removeprefix('requirements-')}" for path in _found("common/*.txt"))
    # Driver sets are never in one image, but must agree: a comparison must not be one of two SQLAlchemy versions.
    for index, path in enumerate(_found("common/*.txt")):
        yield Lock(drivers[index], _text(path), drivers[:index])
    for name in folders:
        yield Lock(f"framework-{name}", _text(Path(f"frameworks/{name}/requirements.txt")), drivers)
    for name in servers:
        constraints = drivers + tuple(f"framework-{hosted}" for hosted in matrix.hosted(name, python))
        yield Lock(f"server-{name}", _text(Path(f"servers/{name}/requirements.txt")), constraints)
    # Installed on top of the other locks, so it brings its own dependencies.
    for package in packages:
        yield Lock(f"package-{package}", package, ())


def _found(pattern: str) -> list[Path]:
    return sorted(Path().glob(pattern))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def compile_lock(lock: Lock, python: str, folder: Path, seeds: Path, upgrade: bool) -> None:
    """Write `folder`/NAME.txt, keeping the pins of `seeds`/NAME.txt that still hold (`upgrade`: none of them).

    Raises CalledProcessError where uv finds no solution; uv has printed why.
    """
    out = folder / f"{lock.name}.txt"
    seed = seeds / out.name
    if seed.exists() and seed != out:
        out.write_bytes(seed.read_bytes())
    argv = ["uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"]
    # Where metadata must be built, the running Python builds it: no other is downloaded.
    image, version = python_image(python)
    argv += ["--no-python-downloads", "--python-version", version]
    if image == "pypy":
        # Keep the environment markers, which CPython cannot evaluate for PyPy; PyPy ships these two packages itself.
        argv += ["--universal", "--no-emit-package", "cffi", "--no-emit-package", "greenlet"]
    else:
        argv += ["--python-platform", "x86_64-unknown-linux-gnu"]
    for name in lock.constraints:
        argv += ["--constraint", str(folder / f"{name}.txt")]
    argv += ["--upgrade"] if upgrade else []
    subprocess.run([*argv, "--output-file", str(out), "-"], input=lock.requirements, text=True, check=True)


def changed(made: Path, kept: Path) -> list[str]:
    """Names of the files that differ between two folders, or are in one of them only."""
    ours, theirs = ({p.name: p.read_bytes() for p in folder.glob("*.txt")} for folder in (made, kept))
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


def relock(matrix: Matrix, python: str, names: Sequence[str], check: bool, upgrade: bool) -> list[str]:
    """Write the locks of one Python (of `names` only, where given); returns the paths of those that were out of date.

    `check` writes nothing.
    """
    kept = LOCKS / python_label(python)
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        for lock in locks(matrix, python):
            seed = kept / f"{lock.name}.txt"
            if not names or lock.owner in names:
                compile_lock(lock, python, made, kept, upgrade)
            elif seed.exists():
                (made / seed.name).write_bytes(seed.read_bytes())
        if any(s.base == "alpine" for s in matrix.services if s.python == python and not s.skip):
            before = Path("none") if upgrade else kept / musl.NAME
            (made / musl.NAME).write_text(musl.answers(made, python, before), encoding="utf-8")
        differing = changed(made, kept)
        for name in () if check else differing:
            (kept / name).unlink(missing_ok=True)
            if (made / name).exists():
                (kept / name).write_bytes((made / name).read_bytes())
    return [f"{kept}/{name}" for name in differing]
