"""A run's folder: creating it, finding it by name, and its files on lanes, addresses and nodes."""

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
"""Cache of unpacked published runs; scripts/clean.sh removes it."""
NO_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories not allowed in names: control characters, lone surrogates (invalid UTF-8), line separators."""


def make_folder(label: str, wanted: Path | None = None) -> Path:
    """Create the folder of a new run; UserError if that fails."""
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
    """Remove a new run's folder if writing its files fails: an incomplete folder is not a run."""
    try:
        yield
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find_run(name: str, needs: str = "plan.jsonl") -> Path:
    """The folder of a run, given by name or path; UserError if there is none or it lacks the file `needs`.

    Published runs are unpacked; a run of the same name in results/ takes precedence. Names with control characters or
    invalid UTF-8 are refused, because scripts read one name per line.
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
    """`find_run` for the scripts, which only work with runs in results/; UserError if it is elsewhere."""
    folder = find_run(name)
    if folder.parent == UNPACKED:
        return folder
    if not (RESULTS / folder.name).is_dir() or not folder.samefile(RESULTS / folder.name):
        raise UserError(f"{folder} is not in {RESULTS}/: move it there")
    return RESULTS / folder.name


LANES = "lanes"
"""The folder with the steps of the lanes; see driver/nodes/setup.py."""


def lane_folder(run: Path, lane: int) -> Path:
    """The folder of a lane's step; the first lane uses the run's folder."""
    return run if lane == 1 else run / LANES / str(lane)


def lane_folders(run: Path) -> list[Path]:
    """The folders of all lanes that the run has ever had."""
    return [run, *sorted((run / LANES).glob("[0-9]*"))]


ADDRESSES = "addresses.tsv"
"""Addresses of the containers as seen by the load generator: published ports, if two machines share no network."""


def read_addresses(run: Path) -> Mapping[str, str]:
    """`ADDRESS:PORT` by service name; empty if all services are reached by name."""
    try:
        return dict(map(_pair, (run / ADDRESSES).read_text().splitlines()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{run / ADDRESSES}: no lines of names and addresses: {error}") from error


def host_and_port(address: str, port: int) -> tuple[str, int]:
    """Split `HOST:PORT`, or `HOST` with the default port `port`."""
    host, _, given = address.partition(":")
    return host, int(given) if given else port


def _pair(line: str) -> tuple[str, str]:
    name, address = line.split("\t")
    host_and_port(address, 0)
    return name, address


NODES = "nodes-ever.tsv"
"""In a run's folder: every node it has ever had, tab-separated as `ROLE NODE CONTEXT ADDRESS KIND`."""


def node_kinds(path: str) -> dict[str, str]:
    """The kind of node for each role, such as `2 CPUs, 23.5 GiB, linux/x86_64`; empty for a run on one machine.

    All nodes of a role are of the same kind.
    """
    kinds: dict[str, str] = {}
    for line in (read_bytes(f"{path}/{NODES}") or b"").decode(errors="replace").splitlines():
        role, *others = line.split("\t")
        if len(others) == 4:
            kinds.setdefault(role, others[-1])
    return kinds
