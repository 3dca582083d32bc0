"""The load tools: each has a parser in `parse` and an adapter in loadgen/adapters."""

TOOLS = ("wrk", "ab", "hey", "vegeta")
