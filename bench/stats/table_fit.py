"""The effects of a table's services, estimated from windows that each contain some of the services.

A window loads a block of services in turns, so that its noise affects all of them equally: ln(value) = effect of the
window + effect of the service + error. Least squares over all windows estimates the difference of any two services,
even if they never shared a window, as long as a chain of windows connects them. Services start fresh in each round, so
errors are correlated within a round and independent between rounds.

Standard errors are CR2 with Satterthwaite's degrees of freedom, clustered by round: Bell and McCaffrey, "Bias
reduction in standard errors for linear regression with multi-stage samples", Survey Methodology 28 (2002); absorbed
window effects by theorem 2 of Pustejovsky and Tipton, JBES 36 (2018). If every round contains all services, this is
exactly the paired t interval of the rounds' differences, whatever the spread of each service. For twenty services in
blocks of seven with a tenth missing, after four rounds, coverage is 95.6 %; with CR1 and t(rounds - 1) it is 93.3 %
(simulated).

Turns bias values, by as much as a window's value exceeds that of its steady part. This excess is fitted like the values
themselves. The services differ in it, but so they would by noise alone: values are corrected by the share of it that is
real (`bench.stats.shrinkage`), and what remains open is part of the standard errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bench.core.groups import grouped
from bench.stats.estimates import LEAST_SPREAD, Interval, t_interval
from bench.stats.shrinkage import shrinkage


class Observation(NamedTuple):
    """The result of one service in one window; `value` is a logarithm, larger is better.

    `window` is unique in the table. `steady` is the value of the window's steady part, if there is one.
    """

    round: int
    window: int
    service: str
    value: float
    steady: float | None = None


@dataclass(frozen=True, slots=True)
class Contrast:
    """The effect of one service minus that of another: 0.05 is 5.1 % more.

    `error` is the standard error, with `df` degrees of freedom; None and 0 if fewer than two rounds contribute to the
    difference or all agree exactly.
    """

    estimate: float
    error: float | None
    df: float

    def interval(self, confidence: float) -> Interval:
        """The interval of this difference alone (t distribution); infinite without a standard error."""
        return t_interval(self.estimate, self.error, self.df, confidence)


@dataclass(frozen=True, eq=False)
class TableFit:
    """The fitted table: k services, sorted by name, and G rounds, sorted by number.

    - `components`: services connected by windows, largest component first; there is no contrast between two components
      (`contrast` gives None), and a service that never shared a window is a component of its own.
    - `effects`: the effect of each service, a logarithm; the mean of each component is 0.
    - `rounds`: the rounds that contribute to any difference.
    - `bias`: by how much turns raised the value of each service, a logarithm; effects are free of it. Empty if windows
      have no steady part.
    - `errors`, `dfs`: [k, k], standard error and degrees of freedom of every contrast; inf and 0 where unknown.
    - `factors`: [k, k], the variance of every contrast if an observation had variance 1; this depends only
      on the design.
    """

    services: tuple[str, ...]
    components: tuple[tuple[str, ...], ...]
    effects: Mapping[str, float]
    rounds: tuple[int, ...]
    bias: Mapping[str, float]
    errors: Any = field(repr=False)
    dfs: Any = field(repr=False)
    factors: Any = field(repr=False)

    def contrast(self, i: str, j: str) -> Contrast | None:
        """`i` minus `j`; None if no chain of windows connects them. KeyError for an unknown name."""
        estimate = self.effects[i] - self.effects[j]
        if i != j and not any({i, j} <= {*part} for part in self.components):
            return None
        one, other = self.services.index(i), self.services.index(j)
        error, df = float(self.errors[one, other]), float(self.dfs[one, other])
        return Contrast(estimate, error, df) if df > 0 else Contrast(estimate, None, 0.0)


def fit_table(observations: Sequence[Observation]) -> TableFit:
    """Fit the effects of windows and services by least squares.

    Values are finite, a window is in one round, and a service at most once in a window. Missing (refused) observations
    are simply left out; a window's only observation has no influence.
    """
    import numpy as np

    services = tuple(sorted({one.service for one in observations}))
    place = {name: index for index, name in enumerate(services)}
    data = _data(observations, place)
    bias = _turn_bias(data)
    data = replace(data, value=data.value - bias.of_value)
    fitted = least_squares(data, data.value)
    errors, dfs = clustered_errors(data, fitted)
    errors = np.sqrt(errors**2 + bias.variance)
    diagonal = np.diag(fitted.inverse)
    return TableFit(
        services=services,
        components=_components(observations, services),
        effects={name: float(fitted.effects[index]) for name, index in place.items()},
        rounds=tuple(int(number) for number in data.round_names),
        bias={name: float(bias.of_service[index]) for name, index in place.items()} if bias.known else {},
        errors=errors,
        dfs=dfs,
        factors=diagonal[:, None] + diagonal - 2 * fitted.inverse,
    )


def _components(observations: Sequence[Observation], services: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    parts = [{name} for name in services]
    for window in grouped(observations, lambda one: one.window).values():
        names = {one.service for one in window}
        connected = {name for part in parts if part & names for name in part}
        parts = [*(part for part in parts if not part & names), connected]
    return tuple(sorted((tuple(sorted(part)) for part in parts), key=lambda part: (-len(part), part)))


def _data(observations: Sequence[Observation], place: Mapping[str, int]) -> Data:
    import numpy as np

    sizes = Counter(one.window for one in observations)
    kept = [one for one in observations if sizes[one.window] > 1]
    window_names, window = np.unique(np.array([one.window for one in kept], dtype=int), return_inverse=True)
    round_names, number = np.unique(np.array([one.round for one in kept], dtype=int), return_inverse=True)
    service = np.array([place[one.service] for one in kept], dtype=int)
    value = np.array([one.value for one in kept], dtype=float)
    excess = np.array([math.nan if one.steady is None else one.value - one.steady for one in kept], dtype=float)
    return Data(window_names, round_names, window, number, service, value, excess, len(place))


OF_OTHERS = 2.0
"""The noise of a service's excess counts the others' with the weight of this many windows."""
SINGULAR = 1e-8
"""Eigenvalues below this share of the largest count as 0."""


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays of the n observations from windows of two or more services; window, round and service are indices.

    `excess` is by how much a value exceeds that of the window's steady part, nan where there is none; `count` is the
    number of services.
    """

    window_names: Any
    round_names: Any
    window: Any
    round: Any
    service: Any
    value: Any
    excess: Any
    count: int


@dataclass(frozen=True, eq=False)
class TurnBias:
    """The bias of turns: of each of n values and of each of k services, and how uncertain it leaves each difference of
    two services, as a variance [k, k]. `known`: whether windows have a steady part.
    """

    of_value: Any
    of_service: Any
    variance: Any
    known: bool


def _turn_bias(data: Data) -> TurnBias:
    import numpy as np

    known = np.isfinite(data.excess)
    seen = np.bincount(data.service[known], minlength=data.count)
    if (seen > 1).sum() < 2:
        return TurnBias(np.zeros(len(known)), np.zeros(data.count), np.zeros((data.count, data.count)), known=False)
    means = np.bincount(data.service[known], data.excess[known], data.count) / np.maximum(seen, 1)
    excess = np.where(known, data.excess, means[data.service])
    residuals = least_squares(data, excess).residuals
    squares = np.bincount(data.service[known], residuals[known] ** 2, data.count) / np.maximum(seen - 1, 1)
    measured = seen > 1
    usual = np.median(squares[measured])
    # Services that answer slowly are measured worse than others: each has its own noise, estimated from a few windows.
    noise = ((seen - 1) * squares + OF_OTHERS * usual) / (seen - 1 + OF_OTHERS) / np.maximum(seen, 1)
    real = shrinkage(means[measured].tolist(), np.maximum(noise[measured], LEAST_SPREAD**2).tolist())
    share, variance = np.zeros(data.count), np.full(data.count, real.spread**2)
    share[measured] = real.share
    unsure = real.variance * (means[measured] - real.mean) ** 2
    variance[measured] = noise[measured] * real.share * (1 - real.share) + unsure
    pairs = (variance[:, None] + variance) * (1 - np.eye(data.count))
    of_service = real.mean + share * (np.where(measured, means, real.mean) - real.mean)
    of_value = of_service[data.service] + share[data.service] * (excess - means[data.service])
    return TurnBias(of_value, of_service, pairs, known=True)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The system with window effects absorbed: rows [n, k], (pseudo)inverse [k, k] of rows.T @ rows, effects
    [k], residuals [n].
    """

    rows: Any
    inverse: Any
    effects: Any
    residuals: Any


def least_squares(data: Data, value: Any) -> Fitted:
    """Fit the effects of the services on `value` [n]; window effects are absorbed by subtracting each window's mean."""
    import numpy as np

    windows = len(data.window_names)
    rows = np.zeros((len(data.value), data.count))
    rows[np.arange(len(rows)), data.service] = 1.0
    total = np.bincount(data.window, minlength=windows)
    means = np.zeros((windows, data.count))
    np.add.at(means, (data.window, data.service), 1 / total[data.window])
    rows = rows - means[data.window]
    mean = np.bincount(data.window, value, windows) / total
    values = value - mean[data.window]
    inverse = np.linalg.pinv(rows.T @ rows, rcond=SINGULAR, hermitian=True)
    effects = inverse @ (rows.T @ values)
    return Fitted(rows, inverse, effects, values - rows @ effects)


def clustered_errors(data: Data, fitted: Fitted) -> tuple[Any, Any]:
    """Standard errors [k, k] and degrees of freedom [k, k] of the contrasts.

    `shares` [G, k] is each round's contribution to the errors of the effects: the squared standard error of (i - j) is
    the sum over the rounds of (shares[:, i] - shares[:, j])**2.
    """
    import numpy as np

    count, rounds = data.count, len(data.round_names)
    shares = np.zeros((rounds, count))
    gram = np.zeros((rounds, count, count))
    crossed = np.zeros((rounds, count, count))
    single = [np.zeros((0, count))]
    values, vectors = np.linalg.eigh(fitted.inverse)
    half = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    for number in range(rounds):
        here = data.round == number
        rows = fitted.rows[here]
        # I - H of the round acts only on the span of its rows, so its inverse root needs k eigenvalues, not n.
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
        gram[number] = adjusted.T @ adjusted
        crossed[number] = half @ rows.T @ adjusted
    known = np.concatenate(single)
    errors, dfs = np.full((count, count), np.inf), np.zeros((count, count))
    for index in range(count):
        squared = ((shares - shares[:, [index]]) ** 2).sum(axis=0)
        diagonal = gram[:, index, index][:, None] + np.einsum("gii->gi", gram) - 2 * gram[:, index]
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
