"""The raw files of a measurement, and the check that they and the plan are unchanged.

meta.json has the sha256 of each file, which shows what was edited, added or removed since. This guards against
accidents, not against someone who also edits meta.json.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.core.files import mapping, read_bytes, text_of
from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import Measurement, step_folder
from bench.tools import tool_of

HASHES = "sha256"
"""The key of the hashes in meta.json (missing in older runs) and in run.json."""
README = "raw/README.md"
"""Explains a run's raw output, and which numbers in it must not be used."""
OF_TURNS = (
    "The tool was stopped while other services had their turns: its latencies and requests/s in this output include the"
    " stops, and no figure is taken from them."
)
ABOUT_RAW = text_of(Path(__file__).with_name("raw_readme.md")).format(of_turns=OF_TURNS) + "\n"


def states_of(run: str, planned: Measurement) -> dict[str, str]:
    """The path of each container's counters before and after the step, without `.before` and `.after`, by name.

    The containers are the service's, its database's and upstream's, and those of a user's own Compose services.
    """
    services = f"{step_folder(planned.dir)}/services"
    own = sorted(glob.glob(f"{glob.escape(f'{run}/{services}')}/{OWN_SERVICE}*.before"))
    others = (os.path.basename(path).removesuffix(".before") for path in own)
    return {name: f"{services}/{name}" for name in (planned.container, "postgres", "upstream", *others)}


def read_files(run: str, planned: Measurement) -> dict[str, bytes | None]:
    """The content of each raw file of one measurement, by name; None for files that cannot be read.

    Files shared by the windows of a block are left out, because they are rewritten when an interrupted block resumes.
    """
    tool = tool_of(planned.tool)
    paths = [f"{planned.dir}/{name}" for name in (tool.output, "tool.json", "knee.json")]
    if not planned.in_block:
        paths += [f"{path}.{when}" for path in states_of(run, planned).values() for when in ("before", "after")]
    paths += [f"{planned.dir}/{name}" for name in tool.more_files]
    return {os.path.basename(path): read_bytes(f"{run}/{path}") for path in paths}


def hashes_of(files: Mapping[str, bytes | None]) -> dict[str, str]:
    """The sha256 of each existing file, for meta.json."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if data is not None}


def changes(files: Mapping[str, bytes | None], meta: Mapping[str, Any] | None) -> Iterator[str]:
    """Changes to the files since meta.json was written; none if it has no hashes."""
    if meta is None or HASHES not in meta:
        return
    then, now = mapping(meta[HASHES]), hashes_of(files)
    for name in dict.fromkeys((*files, *then)):
        if then.get(name) != now.get(name):
            yield f"{name} was {'removed' if name not in now else 'edited' if name in then else 'added'}"


def changed_plan(run: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """The files of the plan that are missing or whose sha256 differs from the one in run.json."""
    for name, wanted in mapping(facts.get(HASHES)).items():
        data = read_bytes(os.path.join(run, os.path.basename(name)))
        if data is None or hashlib.sha256(data).hexdigest() != wanted:
            yield name
