"""The benchmark: plans runs of the matrix, verifies services, judges what was measured and renders the report.

The subpackages are the pipeline; imports only point downwards: cli, render, export, drive, load, analysis, stats,
validity, records, run, plan, contract, matrix, tools, parse, core.
"""

__version__ = "0.3.0"
"""The release, as in CHANGELOG.md; run.json names it."""
