"""Packages: the versions that locks pin, services with another version of a package, and the wheels of `--package`.

driver/planning/packages.py builds a wheel for each version and each Python; packages.json beside them describes them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from email.parser import HeaderParser
from functools import cache
from lzma import LZMAError
from pathlib import Path
from typing import Any, cast

from bench.core.errors import EqualSides, UserError
from bench.core.files import MOST_UNPACKED, need_no_links, read_bytes, unzipped, write_file
from bench.core.formats import joined
from bench.core.typed import read_typed
from bench.matrix.knobs import host_name, slug
from bench.matrix.model import Matrix, Service, python_image, python_label, suffix

PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.!+]*)\Z")
"""NAME==VERSION, as in records. A package built from a source has a local version: `0.54.0+g1a2b3c4`."""
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
LOCKS = Path("services/locks")

Locked = Callable[[Service], Mapping[str, str]]
"""A function that returns the versions pinned by a service's locks, by normalised name."""


def normalised(name: str) -> str:
    """A package's name in the normal form in which an index compares names."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def asked(service: Service, root: Path = Path("services")) -> list[str]:
    """The requirements of its server that apply on every Python, such as `gunicorn[gevent]`, `psycogreen`."""
    text = (root / "servers" / service.server.name / "requirements.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip() and not re.search(r"[#;]", line)]


def pins_in(lock: Path) -> list[tuple[str, str]]:
    """(normalised name, version) of every pin of a lock; empty if the file does not exist."""
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    return [(normalised(name), version) for name, version in _PIN.findall(text)]


def locked(root: Path = LOCKS) -> Locked:
    """A function that returns the packages of a service's image, from the locks below `root`, without a user's app."""
    read = cache(pins_in)

    def of(service: Service) -> Mapping[str, str]:
        server, framework = service.server, service.framework
        packages: dict[str, str] = {}
        # In the order of installation: later ones win.
        for name in (f"common-{server.style}", f"framework-{framework.folder}", f"server-{server.name}"):
            packages.update(read(root / python_label(service.python) / f"{name}.txt"))
        return packages

    return of


@dataclass(frozen=True, slots=True)
class Pins:
    """The version of each package, by normalised name; `whole`: the image has no other packages."""

    versions: Mapping[str, str]
    whole: bool


def pins_of(service: Service, own_locks: Path | None = None, root: Path = LOCKS) -> Pins:
    """The packages that a service's image is built with; `own_locks`: the folder with the locks of a user's own app."""
    label, versions = python_label(service.python), dict(locked(root)(service))
    # PyPy ships packages itself, and its locks have markers.
    whole = python_image(service.python)[0] != "pypy"
    if service.package:
        path = root / label / f"package-{service.package}.txt"
        whole &= path.exists()
        versions.update(pins_in(path))
    if own_locks:
        versions.update(pins_in(own_locks / label / "requirements.txt"))
    return Pins(versions | {normalised(name): version for name, version in versions_in(service.package)}, whole)


def versions_in(package: str | None) -> list[tuple[str, str]]:
    """(name, version) of each package that a service has in another version; the first is that of `--package`."""
    return [(name, version) for name, _, version in (word.partition("==") for word in (package or "").split())]


def package_words(package: str) -> str:
    """What a service has in another version: `werkzeug 3.2 with flask 3.2`."""
    first, *others = [f"{name} {version}".strip() for name, version in versions_in(package)] or [package]
    return f"{first} with {joined(others)}" if others else first


def with_package(matrix: Matrix, service: Service, package: str, wheel: str = "") -> Service:
    """`service` with other versions of packages, also in its name; UserError if one in `package` is not NAME==VERSION.

    `wheel`: the folder in the run with their wheels; empty: the build of the image installs the release from a lock.
    """
    for word in package.split() or [package]:
        if not PACKAGE.match(word):
            raise UserError(f"package '{word}' is not NAME==VERSION")
    full = name_with(service, *versions_in(package))
    cause = service.skip or matrix.skip_cause(full, service.server)
    return replace(service, name=host_name(full, full), package=package, wheel=wheel, skip=cause)


def name_with(service: Service, *packages: tuple[str, str]) -> str:
    """The service's name with these versions: `uvicorn-asgi-0-53-0-py313-debian`."""
    labels: list[str] = []
    for package, version in packages:
        name, label = package.lower(), slug(version)
        # Without the package's name if the server or framework is named after it: `gunicorn-sync-wsgi-23-0-0-...`.
        own = name in (service.framework.name, service.server.name, service.server.name.partition("-")[0])
        labels.append(label if own and not labels else f"{name}-{label}")
    return f"{service.stack}-{'-'.join(labels)}-{suffix(service.python, service.base)}"


# From here on: the wheels of `--package`.

FILE = "packages.json"
FOLDER = "packages"
"""The folder of a run with the wheels and `FILE`."""
RELEASE, LADDER, COMMIT = "release", "ladder", "commit"
"""Kinds of `--package`: a release, several releases, a commit of a repository. Others: wheel, sdist, folder."""
SHORT = 7
"""Digits of a commit or digest in a local version."""
MOST_WORDS = 300
NO_WHEEL = (OSError, ValueError, KeyError, RuntimeError, EOFError, LZMAError, zlib.error, zipfile.BadZipFile)
"""What reading a file raises that is broken, encrypted or compressed in another way."""
MADE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
"""The folder of a wheel: the index of its `--package`, and which of that it is."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==?([^=<>]*)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One `--package` or `--with`: its argument, and for a source its commit; `changed`: it has uncommitted changes.

    `together`: it is a `--with`, which each version of a package is changed together with.
    """

    spec: str
    kind: str
    commit: str = ""
    changed: bool = False
    together: bool = False

    def __str__(self) -> str:
        return f"--{'with' if self.together else 'package'} {self.spec}"

    @property
    def is_release(self) -> bool:
        """Whether it names versions that the package index has."""
        return self.kind in (RELEASE, LADDER)

    @property
    def words(self) -> str:
        """Where it comes from, in words."""
        if self.is_release:
            return "the release, from the package index"
        if self.kind == COMMIT:
            return f"commit {self.commit[:12]} ({self.spec})"
        at = f", commit {self.commit[:12]}" if self.commit else ""
        return f"{self.kind} {self.spec}{at}{', with uncommitted changes' if self.changed else ''}"


@dataclass(frozen=True, slots=True)
class Wheel:
    """One version of a package for one Python: its wheel, or the cause why there is none.

    - `asked`: the index of its `--package`.
    - `package`: NAME==VERSION as in records; for a source, its commit or a digest of its content is added.
    - `content`: the digest of the wheel's files. `sha256`, of the wheel itself, changes with every build (timestamps).
    """

    asked: int
    name: str
    version: str
    package: str = ""
    folder: str = ""
    sha256: str = ""
    content: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Wheels:
    """All wheels of a run: what was asked for, and the versions by Python label, in the same order."""

    asked: tuple[Asked, ...]
    made: Mapping[str, tuple[Wheel, ...]]

    def of(self, label: str, name: str) -> tuple[Wheel, ...]:
        """The versions of a package on a Python."""
        return tuple(one for one in self.made.get(label, ()) if one.name == name and not self.asked[one.asked].together)

    def together(self, label: str) -> tuple[Wheel, ...]:
        """What each of these versions is changed together with on a Python."""
        return tuple(one for one in self.made.get(label, ()) if self.asked[one.asked].together)

    @property
    def names(self) -> list[str]:
        """The packages, in the order of the command line."""
        made = (one for made in self.made.values() for one in made if not self.asked[one.asked].together)
        return list(dict.fromkeys(one.name for one in made))

    def facts(self) -> list[dict[str, Any]]:
        """run.json's entries: each wheel with its origin."""
        return [
            asdict(one) | {"asked": self.asked[one.asked].spec, "from": self.asked[one.asked].words, "python": label}
            for label, made in self.made.items()
            for one in made
        ]


def write_wheels(folder: Path, wheels: Wheels) -> None:
    """Write packages.json, and the wheels of --with beside those of each version: an image gets all of a folder."""
    for label, made in wheels.made.items():
        versions = {one.folder for one in made if one.folder and not wheels.asked[one.asked].together}
        for other in wheels.together(label):
            for version in versions if other.folder else ():
                shutil.copytree(folder / other.folder, folder / version / "with" / Path(other.folder).name)
    write_file(folder / FILE, json.dumps({"schema": 1} | asdict(wheels), indent=1, ensure_ascii=False) + "\n")


def read_wheels(folder: Path) -> Wheels:
    """The wheels of a folder; UserError if its packages.json is missing or invalid."""
    return read_typed(Wheels, folder / FILE, "packages")


def wheels_of(items: Path, out: Path, labels: Sequence[str]) -> Wheels:
    """The wheels that a build produced; UserError if a `--package` has none, or two have the same content.

    `items/N/` describes the N-th `--package` or `--with` in the files `spec` and `kind`, for a source also `commit` and
    `changed`, for a `--with` also `together`.
    `out/LABEL/N-K/` has its K-th wheel for a Python, or `error.txt` and, for a release, the `requirement` asked for.
    """
    need_no_links(out)
    asked = tuple(
        Asked(_text(item / "spec"), _text(item / "kind"), _text(item / "commit"), *_flags(item))
        for item in sorted(filter(Path.is_dir, items.iterdir()), key=lambda item: int(item.name))
    )
    made = {label: tuple(_wheels(asked, out, label)) for label in labels}
    # A source or wheel without one for a Python is known by what it gave for another.
    known = {one.asked: (one.name, one.version) for found in made.values() for one in found if one.name}
    for label, versions in made.items():
        made[label] = tuple(_named(one, *known.get(one.asked, ("", ""))) for one in versions)
    for number, package in enumerate(asked):
        _check_there(package, [[wheel for wheel in found if wheel.asked == number] for found in made.values()])
    for found in made.values():
        _check_equal(asked, found)
    wheels = Wheels(asked, made)
    for label in made:
        names = [*wheels.names, *(one.name for one in wheels.together(label))]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"--with {twice}: it is changed already: give each package to one --package or --with")
    return wheels


def _flags(item: Path) -> tuple[bool, bool]:
    """Whether it has uncommitted changes, and whether it is a --with: files with any text."""
    return bool(_text(item / "changed")), bool(_text(item / "together"))


def _named(one: Wheel, name: str, version: str) -> Wheel:
    return one if one.name else replace(one, name=name, version=version)


def _wheels(asked: Sequence[Asked], out: Path, label: str) -> Iterator[Wheel]:
    # A build can leave others.
    folders = (MADE.fullmatch(path.name) for path in (out / label).iterdir() if path.is_dir())
    for number, index in sorted((int(found[1]), int(found[2])) for found in folders if found):
        yield _wheel(number, asked[number], out, Path(label) / f"{number}-{index}")


def _wheel(number: int, asked: Asked, out: Path, folder: Path) -> Wheel:
    if not (made := sorted((out / folder).glob("*.whl"))):
        words = _REQUIREMENT.match(_text(out / folder / "requirement"))
        name, version = (normalised(words[1]), words[2]) if words else ("", "")
        return Wheel(number, name, version, cause=_cause(_text(out / folder / "error.txt"), version))
    try:
        name, version, content = _read_wheel(made[0])
    except NO_WHEEL as error:
        raise UserError(f"{asked}: {made[0].name} is not a wheel: {error}") from error
    package = f"{name}=={version}"
    if not asked.is_release:
        mark = f"g{asked.commit[:SHORT]}" if asked.kind == COMMIT else content[:SHORT]
        package += f"{'.' if '+' in version else '+'}{mark}"
    if not PACKAGE.match(package):
        raise UserError(f"{asked}: '{package}' is not the name and version of a package")
    with made[0].open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Wheel(number, name, version, package, str(folder), sha256, content)


def _read_wheel(wheel: Path) -> tuple[str, str, str]:
    """(name, version, digest of its files) of a wheel."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as file:
        # A member is never read beyond the size that it states.
        if sum(member.file_size for member in file.infolist()) > MOST_UNPACKED:
            raise ValueError(f"it unpacks to more than {MOST_UNPACKED >> 30} GiB")
        names = sorted(name for name in file.namelist() if not name.endswith("/"))
        metadata = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        if len(metadata) != 1:
            raise ValueError("it has no METADATA")
        with file.open(metadata[0]) as member:
            headers = HeaderParser().parsestr(unzipped(member).decode("utf-8", "replace"))
        for name in names:
            with file.open(name) as member:
                content = hashlib.file_digest(cast(Any, member), "sha256").hexdigest()
            digest.update(f"{name}\0{content}\n".encode())
    return normalised(str(headers["Name"])), str(headers["Version"]), digest.hexdigest()


def _check_there(asked: Asked, by_python: Sequence[Sequence[Wheel]]) -> None:
    """UserError if it is complete on no Python; for a ladder, two versions are enough."""
    missing = []
    for own in by_python:
        failed = [wheel for wheel in own if wheel.cause]
        if not failed or (asked.kind == LADDER and len(own) - len(failed) >= 2):
            return
        missing.append(failed[0].cause)
    raise UserError(f"{asked}: {missing[0]}")


def _check_equal(asked: Sequence[Asked], wheels: Sequence[Wheel]) -> None:
    seen: dict[tuple[str, str], Wheel] = {}
    for wheel in wheels:
        first = None if wheel.cause else seen.setdefault((wheel.name, wheel.content), wheel)
        if first is not None and first is not wheel:
            both = " and ".join(dict.fromkeys(asked[number].spec for number in (first.asked, wheel.asked)))
            raise EqualSides(f"--package: equal sides: {both} give the same files ({wheel.package})")


def _cause(log: str, version: str) -> str:
    """Why pip failed or the package did not build, in one line."""
    lines = list(filter(None, (line.lstrip(" │|╰─>").rstrip() for line in log.splitlines())))
    asked = re.escape(version).replace(r"\*", "[^ ;]*")
    if version and (other := re.search(rf"[ ;]{asked} Requires-Python ([^;]+)", " ; ".join(lines))):
        return f"it needs another Python: {other[1].strip()}"
    if "[end of output]" in lines:
        words = lines[lines.index("[end of output]") - 1]
        return f"it does not build: {words}"[:MOST_WORDS]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    # "ERROR: Exception:" only introduces pip's own traceback.
    errors = [line for line in errors if line != "Exception:"]
    return (errors or lines or ["pip printed no reason"])[-1][:MOST_WORDS]


def _text(path: Path) -> str:
    return (read_bytes(str(path)) or b"").decode(errors="replace").strip()
