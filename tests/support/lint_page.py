"""Lints and checks the format of the page's JavaScript with Biome: `python3 tests/support/lint_page.py`.

The files in bench/render/page/app share one scope, because the page joins them to one function. They are linted as that
function: in single files, names from other files would be undeclared, and functions for other files unused. The
site's finder, which uses some of them, is in a scope of its own within it. Positions are relative to the original file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.render.page.document import HERE, app

FINDER = HERE.parent / "finder.js"
BIOME = ("--config-path=tests/biome.jsonc", "--colors=off", "--max-diagnostics=200")


def main() -> int:
    files = [*sorted((HERE / "app").glob("*.js")), FINDER]
    formatted = subprocess.run(["biome", "format", *BIOME, *files], check=False).returncode
    with TemporaryDirectory() as folder:
        script = Path(folder) / "page.js"
        script.write_text(joined())
        command = ["biome", "lint", *BIOME, "--error-on-warnings", script]
        linted = subprocess.run(command, check=False, capture_output=True, text=True)
    print(located(linted.stdout + linted.stderr, str(script), files), end="")
    return formatted or linted.returncode


def joined() -> str:
    return app().removesuffix("})();\n") + f"(() => {{\n{FINDER.read_text()}}})();\n}})();\n"


def located(output: str, script: str, files: list[Path]) -> str:
    """Biome's output with positions in the app's files instead of in the joined script."""
    text = joined()
    starts = {file: text[: text.index(file.read_text())].count("\n") + 1 for file in files}

    def place(found: re.Match[str]) -> str:
        line = int(found[1])
        file = max((file for file in files if starts[file] <= line), key=lambda file: starts[file], default=None)
        return found[0] if file is None else f"{file.relative_to(Path.cwd())}:{line - starts[file] + 1}:{found[2]}"

    return re.sub(re.escape(script) + r":(\d+):(\d+)", place, output)


if __name__ == "__main__":
    sys.exit(main())
