"""Pairs of services as values with a known mean and noise."""

from __future__ import annotations

import math

import numpy as np

from bench.analysis.comparison import Comparison, Metric
from bench.analysis.verdicts import verdicts


def rounds(percent: float, n: int, spread: float = 0.01, seed: int = 0) -> tuple[float, ...]:
    """Values with exactly this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=n)
    values = (values - values.mean()) / values.std(ddof=1)
    return tuple((math.copysign(math.log1p(abs(percent) / 100), percent) + spread * values).tolist())


def pair(values: tuple[float, ...], a: str = "A", b: str = "B", cause: str | None = None) -> Comparison:
    return Comparison(a=a, b=b, metric=Metric.CPU, values=values, cause=cause)


def word(*tables: Comparison) -> str:
    return verdicts(tables)[0].word
