"""What differs between two runs, in lines."""

from __future__ import annotations

from bench.analysis.runs.compatibility import Compatibility, Discrepancy


def difference_words(found: Discrepancy) -> str:
    """`incompatible: host kernel: 6.1.0 vs 6.12.0`."""
    why = f" ({found.why})" if found.why else ""
    return f"{'incompatible' if found.forbids else 'noted'}: {found.name}: {found.one} vs {found.other}{why}"


def compatibility_lines(found: Compatibility) -> list[str]:
    """One line per difference, then the result."""
    last = "comparable" if found.comparable else f"not comparable: {found.cause}"
    return [*map(difference_words, found.differences), last]
