"""The verb for the files that are generated from the matrix."""

from __future__ import annotations

from collections.abc import Sequence

from bench.cli.names import names_file
from bench.core.errors import UserError
from bench.matrix.bases import bases_file
from bench.matrix.catalogue import catalogue_file
from bench.matrix.compose import bench_file, compose_file
from bench.matrix.load import load_matrix


def generate_verb(argv: Sequence[str]) -> None:
    """`generate FILE`: print the generated text of catalogue.md (in docs/) or of a file of services/."""
    texts = {
        "compose.yml": compose_file,
        "bench.yml": bench_file,
        "bases.tsv": bases_file,
        "names.tsv": names_file,
        "catalogue.md": catalogue_file,
    }
    if len(argv) != 1 or argv[0] not in texts:
        raise UserError(f"generate takes one of: {', '.join(texts)}")
    print(texts[argv[0]](load_matrix()), end="")
