"""The verb on a table of somebody else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.analysis.foreign_table import SECONDS, read_table, remarks
from bench.core.arguments import Parser, number
from bench.core.errors import UserError

MOST = 1 << 20
"""The most characters of a table."""


def audit_table_verb(argv: Sequence[str]) -> int:
    """`audit-table < FILE`: print what is wrong with a table, a line each; 1 if something in it cannot be."""
    parser = Parser("audit.sh")
    parser.add_argument("--connections", type=_positive)
    parser.add_argument("--wait", type=_positive, help="milliseconds")
    parser.add_argument("--unit", choices=tuple(SECONDS), default="ms")
    options = parser.parse_args(argv)
    text = sys.stdin.buffer.read(MOST + 1).decode(errors="replace")
    if len(text) > MOST:
        raise UserError(f"a table has at most {MOST >> 20} MiB")
    rows = read_table(text, options.unit)
    doubts = [*remarks(rows, options.connections, (options.wait or 0.0) / 1000)]
    for remark in doubts:
        print(f"{'cannot be' if remark.impossible else 'doubt'}: {remark.words}.")
    if not doubts:
        print(f"Nothing in these {len(rows)} rows contradicts itself. That does not make them right.")
    return int(any(remark.impossible for remark in doubts))


def _positive(text: str) -> float:
    value = number(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value
