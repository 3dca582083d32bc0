"""The folder layout of earlier runs, in which only blocks of services in turns had a folder for each step.

    raw/rNN/SERVICE/SCENARIO/TOOL-LEVEL/                    measured alone, with server.before, database.after, ...
    raw/rNN/blocks/BLOCK/SCENARIO/TOOL-LEVEL/wN/SERVICE/    in turns, with blocks/BLOCK/services/SERVICE.before
    raw/profiles/SERVICE/SCENARIO/TOOL-LEVEL/               of --profile

No other module depends on this layout.
"""

from __future__ import annotations

import glob
import os

from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import Measurement

_ALONE = 5
"""Path depth of a measurement alone in the earlier layout; it is 7 now."""


def states_of(run: str, folder: str, service: str) -> dict[str, str] | None:
    """The state files of each container, without `.before` and `.after`; None for a run with the current layout."""
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
    """The folder of a window, in the earlier layout if it is a window of --profile that exists there."""
    cell = f"{window.scenario}/{window.tool}-{window.level}"
    earlier = f"raw/profiles/{window.service}/{cell}"
    return earlier if window.dir.startswith("raw/profiles/") and os.path.isdir(f"{run}/{earlier}") else window.dir
