"""Runs a command whose Python processes compile each module of the project only once: compiled.py COMMAND...

The project is mounted read-only, so bytecode goes to PYTHONPYCACHEPREFIX. This setting hides the existing bytecode of
Python and its packages, so that is linked into the folder first.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import tempfile
from pathlib import Path


def link_all(prefix: str) -> None:
    """Links the bytecode of Python and its packages to where Python looks for it with this prefix."""
    sys.pycache_prefix = None
    for top in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}:
        for source in Path(top).rglob("*.py"):
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
