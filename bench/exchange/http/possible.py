"""What no server can exceed."""

from __future__ import annotations


def most_possible(at_once: int, whose: str, wait_s: float) -> tuple[float, str]:
    """(responses per second, why) if each takes at least `wait_s` seconds, and there are `at_once` at a time."""
    return at_once / wait_s, f"{whose}, each response after {1000 * wait_s:g} ms"
