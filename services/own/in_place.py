"""Has an app that is a package run from its folder, as installing it in editable mode does.

Its wheel may lack templates and data. Usage:
in_place.py complete WHEELS FOLDER  adds what building a wheel made beside the sources to those in the folder:
                                    extension modules, and files such as _version.py
in_place.py roots WHEELS FOLDER     prints the packages whose place in the folder is neither itself nor its src, as
                                    lines of package and place
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

BUILT = (".so", ".pyd")


def sources(wheel: ZipFile, folder: Path) -> dict[str, Path]:
    """Where the folder has the sources of a package: itself, its src, or the nearest place with most of its modules."""
    packages: dict[str, list[str]] = {}
    for name in wheel.namelist():
        package, _, rest = name.partition("/")
        if rest:
            packages.setdefault(package, []).append(name)
    return {package: top for package, names in packages.items() for top in [*_tops(package, names, folder)][:1]}


def _tops(package: str, names: list[str], folder: Path) -> Iterator[Path]:
    yield from (top for top in (folder, folder / "src") if os.path.isdir(top / package))
    modules = [name for name in names if name.endswith(".py")]
    places = sorted(
        (Path(place) for place, folders, _ in os.walk(folder) if package in folders), key=lambda p: len(p.parts)
    )
    yield from (place for place in places if sum(os.path.isfile(place / name) for name in modules) > len(modules) / 2)


def complete(wheel: ZipFile, folder: Path) -> None:
    for package, top in sources(wheel, folder).items():
        for name in wheel.namelist():
            if name.startswith(f"{package}/") and (name.endswith(BUILT) or not os.path.lexists(top / name)):
                wheel.extract(name, top)


def roots(wheel: ZipFile, folder: Path) -> None:
    for package, top in sources(wheel, folder).items():
        if top not in (folder, folder / "src"):
            print(package, top.relative_to(folder))


if __name__ == "__main__":
    for path in Path(sys.argv[2]).glob("*.whl"):
        with ZipFile(path) as archive:
            {"complete": complete, "roots": roots}[sys.argv[1]](archive, Path(sys.argv[3]))
