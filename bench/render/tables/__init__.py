"""The tables of report.md, one module for each kind."""
