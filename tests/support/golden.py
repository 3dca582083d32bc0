"""Golden files: after an intended change, run the test with GOLDEN=write and review the diff."""

import os
from collections.abc import Mapping
from pathlib import Path

Said = Mapping[str, str | list[str] | tuple[str, ...]]
"""The sentence or sentences of each case."""


def same_as(golden: Path, text: str) -> None:
    """Compare a text with its golden file."""
    if os.environ.get("GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def cases(found: Said) -> str:
    """The name of each case, followed by one line per sentence."""
    parts = []
    for case, said in found.items():
        lines = [said] if isinstance(said, str) else [*said]
        parts.append("\n".join([f"# {case}", *(line or "(empty)" for line in lines or ["(nothing)"]), ""]))
    return "\n".join(parts)
