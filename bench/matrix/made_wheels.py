"""The wheels that a build left, as versions to compare; UserError where what was asked for cannot be compared.

There is, of each `--package` N, a folder of items with `spec`, `kind`, and of a source `commit` and `changed`; and for
each Python `LABEL/N-K/` with a wheel, or with `error.txt` and what was asked of the index in `requirement`.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator, Sequence
from email.parser import HeaderParser
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.packages import PACKAGE, normalised
from bench.matrix.wheels import COMMIT, LADDER, RELEASE, Asked, Wheel, Wheels

SHORT = 7
"""Digits of a commit or digest in a version."""
REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==?([^=<>]*)")
MOST_WORDS = 300


def wheels_of(items: Path, out: Path, labels: Sequence[str]) -> Wheels:
    """All of them, checked: what was asked for by itself is there on some Python, and no two are the same."""
    asked = tuple(_asked(folder) for folder in _numbered(items))
    made = {label: tuple(_wheels(asked, out, label)) for label in labels}
    for number, one in enumerate(asked):
        _check_there(one, [[wheel for wheel in found if wheel.asked == number] for found in made.values()])
    for found in made.values():
        _check_equal(asked, found)
    return Wheels(asked, made)


def _numbered(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: int(path.name))


def _asked(folder: Path) -> Asked:
    def text(name: str) -> str:
        file = folder / name
        return file.read_text(encoding="utf-8", errors="replace").strip() if file.exists() else ""

    return Asked(text("spec"), text("kind"), text("commit"), bool(text("changed")))


def _wheels(asked: Sequence[Asked], out: Path, label: str) -> Iterator[Wheel]:
    pairs = [path.name.split("-") for path in (out / label).iterdir() if path.is_dir()]
    for number, index in sorted((int(number), int(index)) for number, index in pairs):
        yield _wheel(number, asked[number], out, Path(label) / f"{number}-{index}")


def _wheel(number: int, asked: Asked, out: Path, folder: Path) -> Wheel:
    made = sorted((out / folder).glob("*.whl"))
    if not made:
        requirement = out / folder / "requirement"
        words = REQUIREMENT.match(requirement.read_text().strip()) if requirement.exists() else None
        name, version = (normalised(words[1]), words[2]) if words else ("", "")
        return Wheel(number, name, version, cause=_cause(out / folder / "error.txt", version))
    try:
        name, version, content = _read(made[0])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"--package {asked.spec}: {made[0].name} is not a wheel: {error}") from error
    package = f"{name}=={version}"
    if asked.kind not in (RELEASE, LADDER):
        mark = f"g{asked.commit[:SHORT]}" if asked.kind == COMMIT else content[:SHORT]
        package += f"{'.' if '+' in version else '+'}{mark}"
    if not PACKAGE.match(package):
        raise UserError(f"--package {asked.spec}: '{package}' is no name and version of a package")
    sha256 = hashlib.sha256(made[0].read_bytes()).hexdigest()
    return Wheel(number, name, version, package, str(folder), sha256, content)


def _read(wheel: Path) -> tuple[str, str, str]:
    """(name, version, digest of its files) of a wheel."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as file:
        names = sorted(name for name in file.namelist() if not name.endswith("/"))
        metadata = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        if len(metadata) != 1:
            raise ValueError("it has no METADATA")
        headers = HeaderParser().parsestr(file.read(metadata[0]).decode("utf-8", "replace"))
        for name in names:
            digest.update(f"{name}\0{hashlib.sha256(file.read(name)).hexdigest()}\n".encode())
    return normalised(str(headers["Name"])), str(headers["Version"]), digest.hexdigest()


def _check_there(asked: Asked, by_python: Sequence[Sequence[Wheel]]) -> None:
    """UserError where there is no Python with enough of it: of a ladder, some may be missing."""
    missing = []
    for own in by_python:
        failed = [wheel for wheel in own if wheel.cause]
        if not failed or (asked.kind == LADDER and len(own) - len(failed) >= 2):
            return
        missing.append(failed[0].cause)
    raise UserError(f"--package {asked.spec}: {missing[0]}")


def _check_equal(asked: Sequence[Asked], wheels: Sequence[Wheel]) -> None:
    seen: dict[tuple[str, str], Wheel] = {}
    for wheel in wheels:
        first = None if wheel.cause else seen.setdefault((wheel.name, wheel.content), wheel)
        if first is not None and first is not wheel:
            words = [asked[number].spec for number in (first.asked, wheel.asked)]
            both = words[0] if words[0] == words[1] else " and ".join(words)
            raise UserError(f"--package: equal sides: {both} give the same files ({wheel.package})")


def _cause(log: Path, version: str) -> str:
    """What pip or the package's build said last, in one line."""
    lines = [line.lstrip(" │|╰─>").rstrip() for line in _text(log).splitlines()]
    lines = [line for line in lines if line]
    asked = re.escape(version).replace(r"\*", "[^ ;]*")
    other = re.search(rf"[ ;]{asked} Requires-Python ([^;]+)", " ; ".join(lines)) if version else None
    if other:
        return f"it needs another Python: {other[1].strip()}"
    if "[end of output]" in lines:
        words = lines[lines.index("[end of output]") - 1]
        return f"it does not build: {words}"[:MOST_WORDS]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    # Where pip itself fails, its traceback follows.
    errors = [line for line in errors if line != "Exception:"]
    return (errors or lines or ["pip says nothing"])[-1][:MOST_WORDS]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
