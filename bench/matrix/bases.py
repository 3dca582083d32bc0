"""Base images: which there are, and which can be had on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bench.matrix.compose import HEADER
from bench.matrix.model import Matrix, Service, python_image
from bench.matrix.settings import read_env


def bases_file(matrix: Matrix) -> str:
    """Lines `IMAGE TAG SUITE INTERPRETER`: every base, and what makes it where no registry answers (-: nothing)."""
    lines = []
    for python, base in dict.fromkeys((s.python, s.base) for s in matrix.services if not s.skip):
        image, version = python_image(python)
        suite = matrix.suite(python, base)
        interpreter = "pypy3" if image == "pypy" else f"python{version}"
        how = f"{suite}\t{interpreter}" if suite else "-\t-"
        lines.append(f"{image}\t{version}-{matrix.bases[base]['tag']}\t{how}\n")
    return HEADER + "".join(lines)


def reachable_bases(the_matrix: Matrix, knobs: Mapping[str, str], images: str | None) -> Callable[[Service], bool]:
    """Whether the base image of a service is on this machine (`images`: a file with their names) or can be had.

    services/.env says how, where scripts/setup.sh met a registry that does not answer or lacks images.
    """
    have = set(Path(images).read_text().split()) if images else None
    local = read_env(Path("services/.env"))
    missing = local.get("MISSING_BASES", "").split()

    def reachable(service: Service) -> bool:
        name = the_matrix.base_image(service, knobs)
        if have is None or name in have:
            return True
        if "LOCAL_PYTHON_IMAGE" in local:
            return the_matrix.suite(service.python, service.base) is not None
        return name not in missing

    return reachable
