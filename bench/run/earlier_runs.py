"""Where runs made before have what is now in the folder of a step: there was one for a block of services in turns only.

    raw/rNN/SERVICE/SCENARIO/TOOL-LEVEL/                    measured alone, with server.before, database.after, ...
    raw/rNN/blocks/BLOCK/SCENARIO/TOOL-LEVEL/wN/SERVICE/    in turns, with blocks/BLOCK/services/SERVICE.before
    raw/profiles/SERVICE/SCENARIO/TOOL-LEVEL/               of --profile

Nothing else knows of them.
"""

from __future__ import annotations

import glob
import os

from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import Measurement

_ALONE = 5
"""The depth of the folder of a measurement alone; now it is 7."""


def states_of(run: str, folder: str, service: str) -> dict[str, str] | None:
    """The files with the states of each container, without `.before` and `.after`; None of a run made since."""
    parts = folder.split("/")
    in_turns = parts[2:3] == ["blocks"]
    if len(parts) != _ALONE and not in_turns:
        return None
    found = {service: f"{folder}/server", "postgres": f"{folder}/database", "upstream": f"{folder}/upstream"}
    if in_turns:
        found[service] = f"{'/'.join(parts[:4])}/services/{service}"
    own = sorted(glob.glob(f"{glob.escape(f'{run}/{folder}')}/{OWN_SERVICE}*.before"))
    names = [os.path.basename(path).removesuffix(".before") for path in own]
    return found | {name: f"{folder}/{name}" for name in names}


def folder_of(run: str, window: Measurement) -> str:
    """The folder of a window; that of --profile follows from no line of the plan."""
    cell = f"{window.scenario}/{window.tool}-{window.level}"
    earlier = f"raw/profiles/{window.service}/{cell}"
    return earlier if window.dir.startswith("raw/profiles/") and os.path.isdir(f"{run}/{earlier}") else window.dir
