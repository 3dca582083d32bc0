"""What building images from nothing costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.core.errors import UserError
from tests.cost.harness_cost import Cost, print_table


def build_cost(argv: Sequence[str]) -> int:
    """`builds BUILDS HISTORIES`: time and bytes of cold builds; exit status 1 when a goal is missed.

    BUILDS has lines `NAME STATUS BEGIN_NS END_NS`, HISTORIES a file NAME.jsonl for each image that was built.
    """
    if len(argv) != 2:
        raise UserError("builds takes a file of builds and a folder of histories; see scripts/harness-cost.sh")
    builds = [line.split() for line in Path(argv[0]).read_text().splitlines()]
    failed = [name for name, status, _, _ in builds if status != "0"]
    seconds = (max(int(b[3]) for b in builds) - min(int(b[2]) for b in builds)) / 1e9
    layers = [read_layers(path) for path in sorted(Path(argv[1]).glob("*.jsonl"))]
    bytes_each = own_bytes(layers) / len(layers) if layers else None
    megabytes = None if bytes_each is None else bytes_each / 1e6
    note = f"{len(layers)} services"
    figures = [
        Cost("cold build of a service", "s", 15, seconds / len(builds), f"{seconds:.0f} s for {len(builds)}"),
        Cost("bytes of its own, beside what all share", "MB", 60, megabytes, note),
        Cost("services that do not build", "", 0, len(failed), ", ".join(failed) or note),
    ]
    return print_table(figures)


def read_layers(path: Path) -> dict[str, int]:
    """Sizes in bytes of an image's layers, by what and when made each, from `docker history` as JSON lines.

    Two images that share a layer have it from one build step, so that step and time tell it from others.
    """
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {f"{e['CreatedAt']} {e['CreatedBy']}": int(e["Size"]) for e in entries if int(e["Size"])}


def own_bytes(images: Sequence[Mapping[str, int]]) -> int:
    """Bytes of all layers, each counted once, less those that every image has."""
    every = set.intersection(*(set(layers) for layers in images))
    return sum(size for key, size in {k: v for layers in images for k, v in layers.items()}.items() if key not in every)
