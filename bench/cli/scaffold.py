"""`scaffold`: a new server or framework, with its folder and its line in services/matrix.toml."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.matrix.new_entry import scaffold
from bench.matrix.service import python_label

NEXT_STEPS = """\
{folder} and its line in services/matrix.toml are written. Next, and again after each change:
  scripts/lock.sh {name}    pins what its requirements.txt asks for
  scripts/generate.sh    writes its Compose services and docs/catalogue.md
  scripts/verify.sh '{services}'
"""


def scaffold_verb(argv: Sequence[str]) -> int:
    """`scaffold server|framework NAME [asgi|wsgi]`: write its folder and its line; print the next steps."""
    kind = argv[0] if argv else ""
    if kind not in ("server", "framework"):
        raise UserError(f"'{kind}' is neither server nor framework; see scripts/scaffold.sh --help")
    if len(argv) not in (2, 3):
        raise UserError("a name is needed, and at most an interface after it; see scripts/scaffold.sh --help")
    matrix, name = load_matrix(), argv[1]
    scaffold(kind, name, argv[2] if len(argv) == 3 else "asgi")
    label = f"{python_label(matrix.default_python)}-{matrix.default_base}"
    services = f"{name}-*-{label}" if kind == "server" else f"*-{name}-{label}"
    print(NEXT_STEPS.format(folder=f"services/{kind}s/{name}", name=name, services=services), end="")
    return 0
