"""Runs a command whose Python processes compile each module of the project only once: compiled.py COMMAND...

The project is mounted read-only, so bytecode goes to PYTHONPYCACHEPREFIX. This setting hides the existing bytecode of
Python, its packages and this project's (scripts/setup.sh compiles it), so that is linked into the folder first.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def link_all(prefix: str) -> None:
    """Links the bytecode that there is to where Python looks for it with this prefix."""
    sys.pycache_prefix = None
    for top in {Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")), ROOT / "bench"}:
        for source in top.rglob("*.py"):
            compiled = Path(importlib.util.cache_from_source(str(source)))
            if compiled.exists():
                place = Path(prefix, *compiled.parent.parent.parts[1:], compiled.name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(compiled)


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    link_all(folder)
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.execvp(sys.argv[1], sys.argv[1:])
