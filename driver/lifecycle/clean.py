"""Lists and removes what this project has left on this machine, found by labels (scripts/clean.sh)."""

from __future__ import annotations

import os
import re
import shutil
import time
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from driver.arguments import Parser
from driver.docker import docker, run
from driver.engines.dead_runs import FOLDER, is_abandoned
from driver.failure import USER, Failure, say
from driver.files import is_locked, text_of
from driver.messages import UNFINISHED
from driver.run import PROJECT, ROOT

RUN = re.compile(r"bench-[0-9]{8}-[0-9]{6}-.+-[0-9]+")
"""The Compose project of a run (driver/run.py)."""
UNPACKED = ".published"
"""The folder of results/ with unpacked published runs (bench/run/folder.py)."""
LEFT_S = 86400
"""Seconds: a folder touched more recently may be in use."""
ROWS = "{{range .Images}}{{.ID}} {{.Repository}}:{{.Tag}} {{.UniqueSize}} {{.CreatedAt}}\n{{end}}"
NAMELESS = "<none>:<none>"
AT_ONCE = 50
UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
LABELS = {
    "image": ("bench.image",),
    "source": ("bench.source",),
    "base": ("bench.base.made",),
    "built": ("bench.base.made", f"{PROJECT}=bench"),
    "composed": (PROJECT,),
}
"""A short word for each set of labels; it applies to images that have all of them."""
KINDS = ("replaced", "service", "harness", "base", "kept", "resumable", "other")
"""kept: ours, but not selected for removal; resumable: an interrupted run needs it; other: without our labels."""
Images = dict[str, list[tuple[str, str]]]
"""References and unshared sizes (in Docker's units), by kind."""


@dataclass
class Left:
    """Ids of Docker objects that no run needs, and the Compose projects of runs in progress."""

    containers: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)


def main(argv: list[str]) -> None:
    """`clean [OPTION...]`: see scripts/clean.sh --help."""
    parser = Parser("clean")
    for name in ("--yes", "--keep-images", "--all", "--build-cache"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--images-older-than", type=_days, default=0)
    options = parser.parse_args(argv)
    root = Path(os.environ.get("BENCH_ROOT") or ROOT)
    left, images = find_left(), find_images(root, options.images_older_than)
    # A run that is still building has no container yet, but holds its lock.
    writers = [path.parent.name for path in root.glob("results/*/.writer") if is_locked(path)]
    left.under_way = left.under_way or writers
    if options.keep_images:
        spare(images, "service")
    if not options.all:
        spare(images, "base", "harness")
    folders, trees = find_folders(root), find_trees(root)
    for name in left.under_way:
        print(f"under way, and left alone: {name}")
    print(f"containers of runs that have ended: {len(left.containers)}")
    print(f"networks: {len(left.networks)}\nvolumes: {len(left.volumes)}")
    print(*images_lines(images), sep="\n")
    print(f"temporary folders of killed scripts, and unpacked published runs: {len(folders) + len(trees)}", flush=True)
    for path in (*folders, *trees):
        print(f"  {path}, {run(['du', '-sh', str(path)], check=False).out.partition(chr(9))[0]}")
    if not options.yes:
        say("nothing is removed without --yes")
        return
    if left.under_way:
        raise Failure(USER, f"nothing is removed while {left.under_way[0]} is under way: wait for it, or end it")
    place = docker("info", "--format", "{{.DockerRootDir}}").out.strip()
    before = _free(place)
    remove_all(root, left, images, folders, trees)
    if options.build_cache:
        docker("builder", "prune", "--all", "--force", check=False)
    # Unknown if the engine's disk is on another machine.
    if before:
        print(f"free on the engine's disk: {before} before, {_free(place)} now")


def _days(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text):
        raise ArgumentTypeError(f"'{text}' is not a number of days")
    return int(text)


def is_ours(project: str, folder: str = "") -> bool:
    """Whether a Compose project is a run, or `docker-compose up` in a clone.

    The project name bench is not enough: other people's folders have that name too.
    """
    is_clone = bool(folder) and Path(folder, "services/matrix.toml").is_file()
    return bool(RUN.fullmatch(project)) or (project == "bench" and is_clone)


def find_left() -> Left:
    """Docker objects that no run needs, and the runs in progress."""
    left, up = Left(), set()
    ours = [one for one in _list("ps", "--all", fields=f"ID State {PROJECT} {FOLDER}") if is_ours(one[2], one[3])]
    for container, state, project, _ in ours:
        if state == "running" and not is_abandoned([container]):
            up.add(project)
    left.containers = [container for container, _, project, _ in ours if project not in up]
    left.under_way = sorted(up)
    # Containers of the tools have no Compose project.
    words = ("--format", "{{.ID}} {{.State}}", "--filter", "label=bench.run")
    for container, state in (line.split() for line in docker("ps", "--all", *words).out.splitlines()):
        if state == "running":
            left.under_way.append(f"container {container}")
        else:
            left.containers.append(container)
    for network, project, labelled in _list("network", "ls", fields=f"ID {PROJECT} bench.network"):
        if (is_ours(project) or (project == "bench" and labelled)) and project not in up:
            left.networks.append(network)
    for volume, project in _list("volume", "ls", fields=f"Name {PROJECT}"):
        if is_ours(project) and project not in up:
            left.volumes.append(volume)
    return left


def find_folders(root: Path) -> list[Path]:
    """Temporary folders of killed scripts, untouched for a day, and unpacked published runs."""
    results = root / "results"
    found = [path for kind in ("app", "packages") for path in results.glob(f".{kind}-????????")]
    found = [*filter(_is_left, [*found, *results.glob("published/.??????")])]
    return sorted([*found, *filter(Path.is_dir, [results / UNPACKED])])


def find_trees(root: Path) -> list[Path]:
    """Worktrees of killed scripts (scripts/branches.sh), untouched for a day."""
    listed = run(["git", "-C", str(root), "worktree", "list", "--porcelain"], check=False).out.splitlines()
    paths = [Path(line[len("worktree ") :]) for line in listed if re.search(r"/tmp\..{10}/tree$", line)]
    return list(filter(_is_left, paths))


def remove_all(root: Path, left: Left, images: Images, folders: list[Path], trees: list[Path]) -> None:
    """Removes all of these; prints the engine's errors."""
    of_docker = (("rm", "--force", "--volumes"), left.containers), (("network", "rm"), left.networks)
    for words, names in (*of_docker, (("volume", "rm"), left.volumes)):
        print(docker(*words, *names, check=False).err if names else "", end="")
    print(remove_images(images), end="", flush=True)
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)
    for path in trees:
        if not run(["git", "-C", str(root), "worktree", "remove", "--force", str(path)], check=False).status:
            path.parent.rmdir()


def _list(*command: str, fields: str) -> Iterator[list[str]]:
    """The `fields` of all objects that have a Compose project; fields with a dot are labels."""
    asked = [f'{{{{.Label "{word}"}}}}' if "." in word else f"{{{{.{word}}}}}" for word in fields.split()]
    lines = docker(*command, "--format", "\t".join(asked), "--filter", f"label={PROJECT}").out.splitlines()
    return (line.split("\t") for line in lines)


def _free(place: str) -> str:
    """Free space there; empty if the path does not exist."""
    with suppress(OSError):
        return f"{shutil.disk_usage(place).free / 1e9:.1f} GB"
    return ""


def _is_left(path: Path) -> bool:
    return path.is_dir() and path.stat().st_mtime < time.time() - LEFT_S


def find_images(root: Path, days: int = 0) -> Images:
    """All images by kind. Images of services younger than `days` are `kept`."""
    labels = {word: _with_labels(wanted) for word, wanted in LABELS.items()}
    resumable = _resumable(root)
    before = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - days * 86400))
    images: Images = {kind: [] for kind in KINDS}
    for line in docker("system", "df", "--verbose", "--format", ROWS).out.splitlines():
        if not line.strip():
            continue
        image, reference, size, made = (line + "   ").split(" ", 3)
        kind = kind_of(reference, {word for word, ids in labels.items() if image in ids})
        if image in resumable and kind in ("service", "replaced"):
            kind = "resumable"
        elif kind == "service" and made[: len(before)] > before:
            kind = "kept"
        images[kind].append((image if reference == NAMELESS else reference, size))
    return images


def kind_of(reference: str, labels: set[str]) -> str:
    """The kind of an image.

    Images inherit labels from base images, so the name must be ours too. A nameless image is ours if it has our own
    label, or was built on a local base for the project bench.
    """
    composed = re.match(r"bench-.{8}-.{6}-.*-own-", reference)
    rules = (
        (reference == NAMELESS, {"image", "source", "built"}, "replaced"),
        (re.match("bench/(loadgen|postgres|upstream|tests):", reference), {"source"}, "harness"),
        (reference.startswith("bench/"), {"image", "built"}, "service"),
        (re.match("bench-(debian|python|pypy):", reference), {"base"}, "base"),
        (composed, {"composed"}, "service"),
    )
    return next((kind if labels & wanted else "other" for named, wanted, kind in rules if named), "other")


def spare(images: Images, *kinds: str) -> None:
    """Moves images of these kinds to `kept`."""
    for kind in kinds:
        images["kept"] += images[kind]
        images[kind] = []


def count(words: str, sizes: Iterable[str]) -> str:
    """A line with the number of images and their unshared size."""
    matches = [re.fullmatch(r"([0-9.]+)([kMGT]?B)", size) for size in sizes]
    known = [float(size[1]) * UNITS[size[2]] for size in matches if size]
    if len(known) < len(matches):
        return f"{words}: {len(matches)}, of unknown size"
    return f"{words}: {len(matches)}" + (f", {sum(known) / 1e6:.1f} MB that no other image shares" if matches else "")


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
        line("kept: our images that were not selected", "kept"),
        line("kept: images that an interrupted run needs", "resumable"),
        line("not ours: images without our labels (or built before there were any)", "other"),
        f"build cache of this engine: {cache}, plus the layers of images, which it keeps after these are removed",
    ]


def remove_images(images: Images) -> str:
    """Removes images by name, so that other names of the same image stay; returns the engine's errors."""
    names = [name for kind in ("replaced", "service", "harness", "base") for name, _ in images[kind]]
    parts = [names[begin : begin + AT_ONCE] for begin in range(0, len(names), AT_ONCE)]
    return "".join(docker("image", "rm", *part, check=False).err for part in parts)


def _with_labels(labels: Iterable[str]) -> set[str]:
    filters = [f"--filter=label={label}" for label in labels]
    return set(docker("image", "ls", "--all", "--quiet", "--no-trunc", *filters).out.split())


def _resumable(root: Path) -> set[str]:
    """Images of runs that have no report yet, or were ended by a time limit."""
    runs = [one for one in root.glob("results/*") if (one / UNFINISHED).exists() or not (one / "report.md").exists()]
    return {(text_of(file) or "").strip() for one in runs for file in one.glob("raw/services/*/image.id")}
