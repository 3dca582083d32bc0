"""Runs shellcheck on scripts that source each other: shellcheck_once.py [--jobs N] SCRIPT...

`shellcheck -x` reads a sourced file again on every path that leads to it, which takes minutes here. So each script is
checked with copies of the files that it sources, in which every file is followed only once, where bash reads it first.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DIRECTIVE = re.compile(r"(\s*# shellcheck source=)(\S+)\s*$")


def followed_once(script: str) -> dict[str, str]:
    """The texts of a script and of all that it sources, by path; repeated sources are replaced by /dev/null."""
    texts: dict[str, str] = {}

    def read(path: str) -> None:
        texts[path] = ""
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        for number, line in enumerate(lines):
            found = DIRECTIVE.match(line)
            if found and found[2] in texts:
                lines[number] = f"{found[1]}/dev/null\n"
            elif found and found[2] != "/dev/null":
                read(found[2])
        texts[path] = "".join(lines)

    read(script)
    return texts


def check(script: str) -> tuple[int, str]:
    """(status, findings) of shellcheck."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in followed_once(script).items():
            copy = Path(folder, path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
        done = subprocess.run(["shellcheck", "-x", script], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("scripts", nargs="+")
    options = parser.parse_args(arguments)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(check, options.scripts))
    print("".join(words for _, words in results), end="")
    return max(status for status, _ in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
