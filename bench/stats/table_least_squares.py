"""Least squares with an effect for each window and each service, and errors clustered by round: arrays in, arrays out.

What it is for, and the sources, are in `bench.stats.table_fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.stats.estimates import LEAST_SPREAD

USUAL = 0.975
"""A window is wild if its mean squared residual is above this quantile of what calm windows show."""
LEAST_DF = 2.0
"""Windows of up to three services tell too little of their noise: weights by it would narrow intervals by chance."""
SINGULAR = 1e-8
"""Eigenvalues below this share of the largest are 0."""


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays of the n observations in windows of two or more; window, round and service are indices.

    `count` is the number of services.
    """

    window_names: Any
    round_names: Any
    window: Any
    round: Any
    service: Any
    value: Any
    weight: Any
    count: int


@dataclass(frozen=True, eq=False)
class Fitted:
    """The weighted system with its windows absorbed: rows [n, k], inverse [k, k] of rows' rows, residuals [n]."""

    rows: Any
    inverse: Any
    effects: Any
    residuals: Any
    weight: Any


def least_squares(data: Data, weight: Any) -> Fitted:
    """Rows and values are scaled by the root of their weight, after the window's weighted mean was subtracted."""
    import numpy as np

    root, windows = np.sqrt(weight), len(data.window_names)
    rows = np.zeros((len(data.value), data.count))
    rows[np.arange(len(rows)), data.service] = 1.0
    total = np.bincount(data.window, weight, windows)
    means = np.zeros((windows, data.count))
    np.add.at(means, (data.window, data.service), weight / total[data.window])
    rows = (rows - means[data.window]) * root[:, None]
    mean = np.bincount(data.window, weight * data.value, windows) / total
    values = (data.value - mean[data.window]) * root
    inverse = np.linalg.pinv(rows.T @ rows, rcond=SINGULAR, hermitian=True)
    effects = inverse @ (rows.T @ values)
    return Fitted(rows, inverse, effects, values - rows @ effects, weight)


def window_weights(data: Data, fitted: Fitted) -> Any:
    """[windows]: 1, or less where the window's residuals are larger than those of the other windows explain."""
    import numpy as np
    from scipy.special import chdtri

    windows = len(data.window_names)
    if windows < 3:
        return np.ones(windows)
    squares = fitted.residuals**2
    seen = np.bincount(data.service, minlength=data.count)
    usual = np.bincount(data.service, squares, data.count) / np.maximum(seen, 1)
    scaled = squares / np.maximum(usual[data.service], LEAST_SPREAD**2)
    leverage = np.einsum("ni,ij,nj->n", fitted.rows, fitted.inverse, fitted.rows)
    df = np.bincount(data.window, minlength=windows) - 1 - np.bincount(data.window, leverage, windows)
    known = df > LEAST_DF
    df = np.maximum(df, LEAST_DF)
    size = np.bincount(data.window, scaled, windows) / df
    level = np.median((size / (chdtri(df, 0.5) / df))[known]) if known.any() else 0.0
    most = level * chdtri(df, 1 - USUAL) / df
    return np.where(known & (size > most) & (level > 0), most / np.maximum(size, LEAST_SPREAD), 1.0)


def clustered_errors(data: Data, fitted: Fitted) -> tuple[Any, Any]:
    """Standard errors [k, k] and degrees of freedom [k, k] of the contrasts.

    `shares` [G, k] is what each round adds to the errors of the effects: the squared standard error of (i - j) is the
    sum over the rounds of (shares[:, i] - shares[:, j])**2.
    """
    import numpy as np

    count, rounds = data.count, len(data.round_names)
    shares = np.zeros((rounds, count))
    own = np.zeros((rounds, count, count))
    crossed = np.zeros((rounds, count, count))
    single = [np.zeros((0, count))]
    values, vectors = np.linalg.eigh(fitted.inverse)
    half = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    for number in range(rounds):
        here = data.round == number
        rows = fitted.rows[here]
        # I - H of the round acts on the span of its rows alone, so its inverse root needs k eigenvalues, not n.
        spread, basis = np.linalg.eigh(half @ (rows.T @ rows) @ half)
        directions = rows @ half @ basis
        kept = spread > SINGULAR
        directions, spread = directions[:, kept] / np.sqrt(spread[kept]), spread[kept]
        reach = directions.T @ rows @ fitted.inverse
        left = np.maximum(1 - spread, 0.0)
        only = left < SINGULAR
        single.append(reach[only])
        factor = np.where(only, 0.0, 1 / np.sqrt(np.where(only, 1.0, left)))
        adjusted = directions @ (factor[:, None] * reach)
        shares[number] = fitted.residuals[here] @ adjusted
        own[number] = adjusted.T @ adjusted
        crossed[number] = half @ rows.T @ adjusted
    known = np.concatenate(single)
    errors, dfs = np.full((count, count), np.inf), np.zeros((count, count))
    for index in range(count):
        squared = ((shares - shares[:, [index]]) ** 2).sum(axis=0)
        diagonal = own[:, index, index][:, None] + np.einsum("gii->gi", own) - 2 * own[:, index]
        steps = crossed[:, :, [index]] - crossed
        products = -np.einsum("gki,hki->igh", steps, steps, optimize=True)
        products[:, np.arange(rounds), np.arange(rounds)] += diagonal.T
        trace = np.einsum("igg->i", products)
        square = (products**2).sum(axis=(1, 2))
        unknown = (abs(known - known[:, [index]]) > SINGULAR**0.5).any(axis=0)
        fine = ~unknown & (trace > 0) & (squared > LEAST_SPREAD**2 / max(rounds, 1))
        errors[index, fine] = np.sqrt(squared[fine])
        dfs[index, fine] = trace[fine] ** 2 / square[fine]
    return errors, dfs
