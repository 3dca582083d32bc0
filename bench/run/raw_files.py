"""The raw files that the figures of a measurement come from, and whether they and the plan are as they were left.

meta.json has the sha256 of each: what was edited, added or removed since is found. That guards against accidents, not
against somebody who changes meta.json too.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.core.files import mapping, read_bytes
from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.run.clients import file_names
from bench.tools import TOOLS

HASHES = "sha256"
"""The key in meta.json, which those of older runs do not have, and in run.json."""
_OF_EVERY_TOOL = (
    "tool.json",
    "knee.json",
    *(f"{whose}.{when}" for whose in ("server", "database", "upstream") for when in ("before", "after")),
)


def output_name(tool: str) -> str:
    """The file that is parsed."""
    return TOOLS[tool].output


def read_files(folder: str, tool: str) -> dict[str, bytes | None]:
    """The content of each raw file in a measurement's own folder; None where it cannot be read.

    What the windows of a block in turns share is not among them: it is written again where a cut block goes on.
    """
    own = glob.glob(f"{glob.escape(folder)}/{OWN_SERVICE}*.*")
    names = (output_name(tool), *_OF_EVERY_TOOL, *TOOLS[tool].more_files)
    names += tuple(sorted(map(os.path.basename, own)))
    # Of several load generators, each has a folder of its own.
    names += tuple(file_names(len(glob.glob(f"{glob.escape(folder)}/client-*/")), TOOLS[tool]))
    return {name: read_bytes(f"{folder}/{name}") for name in names}


def own_services(files: Iterable[str]) -> list[str]:
    """The Compose services of a user's own app whose counters are among these files."""
    return [name.removesuffix(".before") for name in files if name.startswith(OWN_SERVICE) and name.endswith(".before")]


def hashes_of(files: Mapping[str, bytes | None]) -> dict[str, str]:
    """The sha256 of each file that there is, for meta.json."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if data is not None}


def changes(files: Mapping[str, bytes | None], meta: Mapping[str, Any] | None) -> Iterator[str]:
    """What became of the files since meta.json was written; nothing where it has no hashes."""
    if meta is None or HASHES not in meta:
        return
    then, now = mapping(meta[HASHES]), hashes_of(files)
    for name in dict.fromkeys((*files, *then)):
        if then.get(name) != now.get(name):
            yield f"{name} was {'removed' if name not in now else 'edited' if name in then else 'added'}"


def changed_plan(run: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """The files of the plan whose sha256 is not the one in run.json, or that are gone."""
    for name, wanted in mapping(facts.get(HASHES)).items():
        data = read_bytes(os.path.join(run, os.path.basename(name)))
        if data is None or hashlib.sha256(data).hexdigest() != wanted:
            yield name
