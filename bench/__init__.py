"""Turns the matrix into a plan and raw output into records, verdicts and tables; verifies services."""
