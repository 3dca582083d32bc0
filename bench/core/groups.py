"""Values in groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """The values by their key; groups in the order of the first value of each, and values in their own."""
    found: dict[K, list[V]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found
