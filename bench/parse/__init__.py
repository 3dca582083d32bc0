"""Parsers of the raw output of wrk, ab, hey and vegeta; a figure that the output lacks is never made up."""

from __future__ import annotations

from .parsed import Errors, Latency, Parsed

__all__ = ["Errors", "Latency", "Parsed"]
