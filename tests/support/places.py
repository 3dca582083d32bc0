"""Paths for tests: the project, samples and golden files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = Path(__file__).parent / "samples"
GOLDEN = ROOT / "tests/unit/render/golden"
OUTPUTS = Path(__file__).parent / "tool_output"
"""What the tools print, with the places of figures."""
LOCKS = Path(__file__).parent / "locks"
"""Lock files of apps, as their tools write them."""
