"""`scaffold` and `baseline`: a new server or framework, with its folder and its line in services/matrix.toml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.matrix.model import python_label
from bench.matrix.new_entry import add_baseline, scaffold

NEXT_STEPS = """\
{folder} and its line in services/matrix.toml are written. Next, and again after each change:
  scripts/lock.sh {name}    pins what its requirements.txt asks for
  scripts/generate.sh    writes its Compose services and docs/catalogue.md
  scripts/verify.sh '{services}'
"""
BASELINE_NEXT_STEP = """\
{name}-base is the {kind} {name} as it was. Next, with the scenarios of your choice:
  scripts/matrix.sh --stack {stacks} --python {python} --base {base} --scenario json --tool wrk --level 32
"""


def scaffold_verb(argv: Sequence[str]) -> int:
    """`scaffold server|framework NAME [asgi|wsgi]`: write its folder and its line; print the next steps."""
    kind = _kind(argv, "scaffold.sh")
    if len(argv) not in (2, 3):
        raise UserError("a name is needed, and at most an interface after it; see scripts/scaffold.sh --help")
    matrix, name = load_matrix(), argv[1]
    scaffold(kind, name, argv[2] if len(argv) == 3 else "asgi")
    label = f"{python_label(matrix.default_python)}-{matrix.default_base}"
    services = f"{name}-*-{label}" if kind == "server" else f"*-{name}-{label}"
    print(NEXT_STEPS.format(folder=f"services/{kind}s/{name}", name=name, services=services), end="")
    return 0


def baseline_verb(argv: Sequence[str]) -> int:
    """`baseline server|framework NAME OLD`: add NAME-base from OLD, a folder with the files as they were."""
    kind = _kind(argv, "add-baseline.sh")
    if len(argv) != 3:
        raise UserError("a commit, a kind and a name are needed; see scripts/add-baseline.sh --help")
    matrix, name = load_matrix(), argv[1]
    add_baseline(kind, name, Path(argv[2]))
    pattern = "{}-FRAMEWORK" if kind == "server" else "SERVER-{}"
    stacks = ",".join(pattern.format(stack) for stack in (f"{name}-base", name))
    words = {"stacks": stacks, "python": matrix.default_python, "base": matrix.default_base}
    print(BASELINE_NEXT_STEP.format(kind=kind, name=name, **words), end="")
    return 0


def _kind(argv: Sequence[str], script: str) -> str:
    kind = argv[0] if argv else ""
    if kind not in ("server", "framework"):
        raise UserError(f"'{kind}' is neither server nor framework; see scripts/{script} --help")
    return kind
