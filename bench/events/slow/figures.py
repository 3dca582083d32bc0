"""What the connections cost, and how many of them the service withstands."""

from __future__ import annotations

from bench.records.slow_connections import BESIDE_SLOW

FIGURES = BESIDE_SLOW
