"""The raw files that the figures of a measurement come from, and whether they and the plan are as they were left.

meta.json has the sha256 of each: what was edited, added or removed since is found. That guards against accidents, not
against somebody who changes meta.json too.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.files import mapping, read_bytes
from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import step_folder
from bench.run import earlier_runs
from bench.run.clients import file_names
from bench.tools import tool_of

HASHES = "sha256"
"""The key in meta.json, which those of older runs do not have, and in run.json."""


README = "raw/README.md"
"""Says what the raw output of a run is, and what in it is no figure."""
OF_TURNS = (
    "The tool was stopped while other services had their turns: its latencies and requests/s in this output include the"
    " stops, and no figure is taken from them."
)
ABOUT_RAW = f"""# Raw output

What the load tools and the containers' counters said, unchanged; docs/architecture.md has the layout.

Of windows in turns (`rNN/bN/`, of wrk, ab or hey): {OF_TURNS}
Their requests/s are computed from responses and turns alone. Latency is measured apart, at a fixed rate and without
stops (`vegeta-share50` and the like).
"""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the raw files of a measurement are, relative to the run's folder.

    `states` has, by container, the files with its counters around the step, without `.before` and `.after`.
    """

    folder: str
    states: Mapping[str, str]
    in_block: bool

    @property
    def own_services(self) -> list[str]:
        """The Compose services of a user's own app among the containers."""
        return [name for name in self.states if name.startswith(OWN_SERVICE)]


def places_of(run: str, folder: str, service: str, *, in_block: bool) -> Places:
    """Of the measurement of a service in this folder; `in_block`: others were up beside it."""
    states = earlier_runs.states_of(run, folder, service)
    if states is None:
        services = f"{step_folder(folder)}/services"
        own = sorted(glob.glob(f"{glob.escape(f'{run}/{services}')}/{OWN_SERVICE}*.before"))
        names = (service, "postgres", "upstream", *(os.path.basename(path).removesuffix(".before") for path in own))
        states = {name: f"{services}/{name}" for name in names}
    return Places(folder, states, in_block)


def output_name(tool: str) -> str:
    """The file that is parsed."""
    return tool_of(tool).output


def read_files(run: str, places: Places, tool: str) -> dict[str, bytes | None]:
    """The content of each raw file of one measurement, by name; None where it cannot be read.

    What the windows of a block share is not among them: it is written again where a cut block goes on.
    """
    folder = places.folder
    names = [output_name(tool), "tool.json", "knee.json"]
    paths = [f"{folder}/{name}" for name in names]
    if not places.in_block:
        paths += [f"{path}.{when}" for path in places.states.values() for when in ("before", "after")]
    files = {os.path.basename(path): read_bytes(f"{run}/{path}") for path in paths}
    # Of several load generators, each has a folder of its own.
    clients = len(glob.glob(f"{glob.escape(f'{run}/{folder}')}/client-*/"))
    more = (*tool_of(tool).more_files, *file_names(clients, tool_of(tool)))
    return files | {name: read_bytes(f"{run}/{folder}/{name}") for name in more}


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
