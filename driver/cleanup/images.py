"""Finds and removes this project's images."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

from driver.docker import docker
from driver.files import text_of

ROWS = "{{range .Images}}{{.ID}} {{.Repository}}:{{.Tag}} {{.UniqueSize}} {{.CreatedAt}}\n{{end}}"
NAMELESS = "<none>:<none>"
AT_ONCE = 50
UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
LABELS = {
    "image": ("bench.image",),
    "source": ("bench.source",),
    "base": ("bench.base.made",),
    "built": ("bench.base.made", "com.docker.compose.project=bench"),
    "composed": ("com.docker.compose.project",),
}
"""A short word for each set of labels; an image has the word if it has all labels."""
KINDS = ("replaced", "service", "harness", "base", "kept", "resumable", "other")
"""kept: ours, but not selected for removal; resumable: an interrupted run needs it; other: not ours by its labels."""

Images = dict[str, list[tuple[str, str]]]
"""References and unshared sizes (in Docker's units), by kind."""


def find_images(root: Path, days: int = 0) -> Images:
    """All images by kind. Images of services are `kept` if they are younger than `days`."""
    labels = {word: _with_labels(wanted) for word, wanted in LABELS.items()}
    resumable = _resumable(root)
    before = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - days * 86400))
    found: Images = {kind: [] for kind in KINDS}
    for line in docker("system", "df", "--verbose", "--format", ROWS).out.splitlines():
        if not line.strip():
            continue
        image, reference, size, made = (line + "   ").split(" ", 3)
        kind = kind_of(reference, {word for word, ids in labels.items() if image in ids})
        if image in resumable and kind in ("service", "replaced"):
            kind = "resumable"
        elif kind == "service" and made[: len(before)] > before:
            kind = "kept"
        found[kind].append((image if reference == NAMELESS else reference, size))
    return found


def kind_of(reference: str, labels: set[str]) -> str:
    """The kind of an image.

    Labels are inherited from base images, so the name has to be ours too. A nameless image is ours if it has our own
    label, or was built on a local base for the project bench.
    """
    composed = re.match(r"bench-.{8}-.{6}-.*-own-", reference)
    rules = (
        (reference == NAMELESS, {"image", "source", "built"}, "replaced"),
        (re.match("bench/(loadgen|postgres|upstream|tests):", reference), {"source"}, "harness"),
        (reference.startswith(("bench/", "harness-cost/")), {"image", "built"}, "service"),
        (re.match("bench-(debian|python|pypy):", reference), {"base"}, "base"),
        (composed, {"composed"}, "service"),
    )
    for named, wanted, kind in rules:
        if named:
            return kind if labels & wanted else "other"
    return "other"


def spare(images: Images, *kinds: str) -> None:
    """Moves images of these kinds to `kept`."""
    for kind in kinds:
        images["kept"] += images[kind]
        images[kind] = []


def count(words: str, sizes: Iterable[str]) -> str:
    """A line with their number and unshared size."""
    found = [re.fullmatch(r"([0-9.]+)([kMGT]?B)", size) for size in sizes]
    known = [float(size[1]) * UNITS[size[2]] for size in found if size]
    if len(known) < len(found):
        return f"{words}: {len(found)}, of unknown size"
    return f"{words}: {len(found)}" + (f", {sum(known) / 1e6:.1f} MB that no other image shares" if found else "")


def images_lines(images: Images) -> list[str]:
    """The summary for the user."""

    def line(words: str, *kinds: str) -> str:
        return count(words, [size for kind in kinds for _, size in images[kind]])

    rows = docker("system", "df", "--format", "{{.Type}} {{.Size}}").out.splitlines()
    cache = next((row.rpartition(" ")[2] for row in rows if row.startswith("Build Cache ")), "")
    return [
        line("images that a newer build has replaced", "replaced"),
        line("images of services", "service"),
        *([line("base images and the harness's", "base", "harness")] if images["base"] or images["harness"] else []),
        line("kept: images of ours that were not asked for", "kept"),
        line("kept: images that an interrupted run goes on with", "resumable"),
        line("not ours: images without our labels (or built before there were any)", "other"),
        f"build cache of this engine: {cache} beside the layers of images, which it keeps when these are removed",
    ]


def remove_images(images: Images) -> str:
    """Removes them by name, so that other names of the same image stay; returns the engine's error messages."""
    names = [name for kind in ("replaced", "service", "harness", "base") for name, _ in images[kind]]
    parts = [names[begin : begin + AT_ONCE] for begin in range(0, len(names), AT_ONCE)]
    return "".join(docker("image", "rm", *part, check=False).err for part in parts)


def _with_labels(labels: Iterable[str]) -> set[str]:
    filters = [f"--filter=label={label}" for label in labels]
    return set(docker("image", "ls", "--all", "--quiet", "--no-trunc", *filters).out.split())


def _resumable(root: Path) -> set[str]:
    """Images of runs that have no report yet."""
    files = (root / "results").glob("*/raw/services/*/image.id")
    return {(text_of(file) or "").strip() for file in files if not (file.parents[3] / "report.md").exists()}
