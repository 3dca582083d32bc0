"""Base images: those that the matrix names, and those that are available on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from bench.matrix.compose import HEADER
from bench.matrix.model import Matrix, Service, python_image
from bench.matrix.settings import read_env


def bases_file(matrix: Matrix) -> str:
    """Tab-separated `IMAGE TAG SUITE INTERPRETER`: each base, and what builds it without a registry (-: nothing)."""
    lines = []
    for python, base in dict.fromkeys((s.python, s.base) for s in matrix.services if not s.skip):
        image, version = python_image(python)
        suite = matrix.suite(python, base)
        interpreter = "pypy3" if image == "pypy" else f"python{version}"
        built_from = f"{suite}\t{interpreter}" if suite else "-\t-"
        lines.append(f"{image}\t{version}-{matrix.bases[base].tag}\t{built_from}\n")
    return HEADER + "".join(lines)


def local_images(listing: str | None) -> frozenset[str] | None:
    """The names of the images on this machine, from a file with them; None: not known."""
    return frozenset(Path(listing).read_text().split()) if listing else None


def reachable_bases(
    matrix: Matrix, settings: Mapping[str, str], present: Collection[str] | None
) -> Callable[[Service], bool]:
    """A predicate: whether a service's base image is on this machine, or can be pulled or built.

    `present` has the names of the local images (None: take all as present). services/.env, written by
    scripts/setup.sh, names the bases that the registry lacks or that are built locally.
    """
    local = read_env(Path("services/.env"))
    missing = local.get("MISSING_BASES", "").split()

    def reachable(service: Service) -> bool:
        name = matrix.base_image(service, settings)
        if present is None or name in present:
            return True
        if "LOCAL_PYTHON_IMAGE" in local:
            return matrix.suite(service.python, service.base) is not None
        return name not in missing

    return reachable
