"""Base images: which ones the matrix names, and which are available on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from bench.matrix.compose import HEADER
from bench.matrix.model import Matrix, Service, python_image
from bench.matrix.settings import read_env


def bases_file(matrix: Matrix) -> str:
    """services/bases.tsv: each base as `IMAGE TAG SUITE INTERPRETER`, tab-separated.

    SUITE and INTERPRETER are what it is built from if there is no registry (`-`: it cannot be built).
    """
    lines = []
    for python, base in dict.fromkeys((s.python, s.base) for s in matrix.services if not s.skip):
        image, version = python_image(python)
        suite = matrix.suite(python, base)
        interpreter = "pypy3" if image == "pypy" else f"python{version}"
        built_from = f"{suite}\t{interpreter}" if suite else "-\t-"
        lines.append(f"{image}\t{version}-{matrix.bases[base].tag}\t{built_from}\n")
    return HEADER + "".join(lines)


def local_images(listing: str) -> frozenset[str]:
    """The names of the images on this machine, read from the file `listing`."""
    return frozenset(Path(listing).read_text().split())


def reachable_bases(
    matrix: Matrix, settings: Mapping[str, str], present: Collection[str] | None
) -> Callable[[Service], bool]:
    """A predicate: whether a service's base image is on this machine, or can be pulled or built.

    `present` has the names of the local images (None: assume that all are present). services/.env, written by
    scripts/setup.sh, names the bases that the registry does not have or that are built locally.
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
