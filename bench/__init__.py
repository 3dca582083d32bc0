"""The benchmark: plans runs of the matrix, verifies services, judges the measurements and renders the report.

docs/architecture.md lists the subpackages, and which of them may import which.
"""

__version__ = "0.3.0"
"""The release, as in CHANGELOG.md and run.json."""
