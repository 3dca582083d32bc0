"""The tables of report.md, one module per kind."""
