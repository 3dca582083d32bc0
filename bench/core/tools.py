"""The load tools. Each has a parser in `bench.parse` and an adapter in loadgen/adapters."""

TOOLS = ("wrk", "ab", "hey", "vegeta")
