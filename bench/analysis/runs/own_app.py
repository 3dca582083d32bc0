"""A user's own app in run.json, and what its requests cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.core.files import mapping

Facts = Mapping[str, Any]
"""run.json, or an entry of it."""
SECONDS_PER_HOUR = 3600


def own_app_of(facts: Facts) -> Facts:
    """run.json's entry of the app; empty in a run of the matrix."""
    return mapping(facts.get("own_app"))


def service_of(facts: Facts, service: str) -> Facts:
    """run.json's entry of a service."""
    return mapping(mapping(facts.get("services")).get(service))


def workers_of(facts: Facts) -> str:
    """The number of worker processes of every service."""
    return str(mapping(facts.get("knobs")).get("WORKERS") or "?")


def price_of(app: Facts, cpu_us: float) -> float | None:
    """What a million requests cost, in the unit of the price of a CPU hour; None where no price was given."""
    price = app.get("cpu_hour_price")
    # Microseconds of CPU per request are seconds per million of them.
    return float(price) * cpu_us / SECONDS_PER_HOUR if isinstance(price, int | float) else None
