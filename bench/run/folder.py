"""A run's folder: made, found by name, and what is in it of lanes, addresses and nodes."""

from __future__ import annotations

import os
import shutil
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.core.errors import UserError, unknown
from bench.core.files import read_bytes
from bench.run.published import is_packed, unpacked

RESULTS = Path("results")
PUBLISHED = RESULTS / "published"
UNPACKED = RESULTS / ".published"
"""Published runs that somebody has asked for; scripts/clean.sh removes it."""
NO_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, lone surrogates (bytes that are no UTF-8), and separators of lines."""


def make_folder(label: str, wanted: Path | None = None) -> Path:
    """Make a new folder for a run; UserError where that fails."""
    folder = wanted or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{label}"
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UserError(f"{folder} already exists: wait a second, or move it") from error
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error.strerror}; results/ must be writable") from error
    return folder


@contextmanager
def whole_or_gone(folder: Path) -> Iterator[None]:
    """Removes a new folder that the disk has no room for: without all of its files it is no run."""
    try:
        yield
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find_run(name: str, needs: str = "plan.jsonl") -> Path:
    """The folder of a run, by name or path; UserError where there is none, or it lacks the file `needs`.

    A published run is unpacked; a run of the same name in results/ goes before. Names with control characters or bytes
    that are no UTF-8 are refused: the scripts read a name as a line.
    """
    given = Path(os.path.normpath(name))
    for folder in (given, RESULTS / given.name, PUBLISHED / given.name) if name else ():
        packed = os.path.isdir(folder) and is_packed(folder)
        if packed or (os.path.isfile(folder / "run.json") and os.path.isfile(folder / needs)):
            if any(unicodedata.category(mark) in NO_LINE for mark in folder.name):
                raise UserError(f"results folder {folder.name!a} has a name that cannot be shown: rename it")
            return unpacked(folder, UNPACKED) if packed else folder
    runs = {p.parent.name for folder in (RESULTS, PUBLISHED) for p in folder.glob("*/run.json")}
    raise unknown("run", name, sorted(filter(str.isprintable, runs)), f"ls {RESULTS} {PUBLISHED}")


def published_runs() -> list[str]:
    """The names of the published runs."""
    return sorted(folder.name for folder in PUBLISHED.glob("[!.]*") if is_packed(folder))


def in_results(name: str) -> Path:
    """`find_run` for the scripts, which know a run by its place in results/; UserError where it is elsewhere."""
    folder = find_run(name)
    if folder.parent == UNPACKED:
        return folder
    if not (RESULTS / folder.name).is_dir() or not folder.samefile(RESULTS / folder.name):
        raise UserError(f"{folder} is not in {RESULTS}/: move it there")
    return RESULTS / folder.name


LANES = "lanes"
"""Where a run keeps the step of each lane; see driver/nodes/setup.py."""


def lane_folder(run: Path, lane: int) -> Path:
    """The folder of a lane's step; the first lane's is the run's."""
    return run if lane == 1 else run / LANES / str(lane)


def lane_folders(run: Path) -> list[Path]:
    """The folders of all lanes that the run has had."""
    return [run, *sorted((run / LANES).glob("[0-9]*"))]


ADDRESSES = "addresses.tsv"
"""Where the load generator reaches the containers: by ports, on two machines without a network in common."""


def read_addresses(run: Path) -> Mapping[str, str]:
    """`ADDRESS:PORT` by name of service; nothing where all of them are reached by their names."""
    try:
        lines = (run / ADDRESSES).read_text().splitlines()
        return dict(_pair(line) for line in lines)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{run / ADDRESSES}: no lines of names and addresses: {error}") from error


def host_and_port(address: str, port: int) -> tuple[str, int]:
    """The parts of `HOST:PORT`, or of a host alone, whose port is `port`."""
    host, _, given = address.partition(":")
    return host, int(given) if given else port


def _pair(line: str) -> tuple[str, str]:
    name, address = line.split("\t")
    host_and_port(address, 0)
    return name, address


NODES = "nodes-ever.tsv"
"""In a run's folder: `ROLE NODE CONTEXT ADDRESS KIND` of each node that it has had, by tabs, from its first call on."""


def node_kinds(path: str) -> dict[str, str]:
    """By role, as `2 CPUs, 23.5 GiB, linux/x86_64`: a run has nodes of one kind for each. Empty on one machine."""
    kinds: dict[str, str] = {}
    for line in (read_bytes(f"{path}/{NODES}") or b"").decode(errors="replace").splitlines():
        role, *others = line.split("\t")
        if len(others) == 4:
            kinds.setdefault(role, others[-1])
    return kinds
