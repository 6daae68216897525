"""Business cycle moments of simulated quarters of an economy with default, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import PERIODS_LIMIT
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import whole
from beltline.host.problem.report import as_html

PATHS = 100
"""Default number of independent paths."""

YEAR = 4
"""Number of quarters in a year."""

REPAID, DEFAULTED, OUT = range(3)
"""What happens in a quarter: debt is repaid, the government defaults, or it is excluded after a default."""

MOMENTS = {
    "mean_spread": "mean spread, percent per year",
    "sd_spread": "sd of the spread, percent per year",
    "mean_debt": "mean debt, percent of quarterly output",
    "default_rate": "defaults per hundred years",
    "relative_sd": "sd of consumption / sd of output",
    "spread_output": "correlation of spread and output",
    "trade_output": "correlation of trade balance and output",
    "consumption_output": "correlation of consumption and output",
    "spread_consumption": "correlation of spread and consumption",
}
"""Name of every moment, and its label in reports."""

SPREAD, TRADE, CONSUMPTION, OUTPUT, DEBT = range(5)
"""Indices of the series."""

NOISE = 1e-12
"""Variance, relative to the mean square, below which it is attributed to rounding."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Policy and prices of an economy in good standing, and what a simulation needs; tables are ``(N_B, N_y)``.

    Parameters
    ----------
    policy : int32 array
        Index of the bonds of the next quarter; -1 where the government defaults.
    zero : int
        Index of the grid point at which bonds are 0.
    reentry : float
        Probability of a return to good standing.
    transition, income, bonds : array
        Markov matrix ``(N_y, N_y)``, income ``(N_y,)``, and grid of bonds ``(N_B,)``.
    prices, spreads, consumption : array
        Prices and spreads are by the bonds of the next quarter; spreads are per year, 0.01 for 1 percentage point.
    """

    policy: NDArray[np.int32]
    zero: int
    reentry: float
    transition: Array
    income: Array
    bonds: Array
    prices: Array
    spreads: Array
    consumption: Array

    def series(self) -> Array:
        """Return the five series by state, ``(5, N_B, N_y)``; nan in the default set."""
        repaid = self.policy >= 0
        income = np.broadcast_to(self.income, self.policy.shape)
        found = np.full((5, *self.policy.shape), np.nan)
        chosen = np.take_along_axis(self.spreads, np.maximum(self.policy, 0), axis=0)
        debt = -self.bonds[:, None] / income
        tables = (chosen, 1.0 - self.consumption / income, np.log(self.consumption), np.log(income), debt)
        for number, table in enumerate(tables):
            found[number][repaid] = table[repaid]
        found[[SPREAD, TRADE, DEBT]] *= 100.0
        return found


@dataclass(frozen=True, eq=False)
class BusinessCycle:
    """Business cycle moments of simulated quarters, with standard errors; ``print`` shows them as a table.

    The sample consists of the quarters in good standing in which debt is repaid. In these quarters

    - the *spread* is ``q**-4 - (1 + r)**4``, in percent per year, where ``q`` is the price of the bonds that are sold
      in the quarter; it is 0 if the government lends or sells safe bonds;
    - *output* is ``ln y`` and *consumption* is ``ln c``, neither filtered;
    - the *trade balance* is ``(y - c) / y``;
    - *debt* is ``-B / y`` at the beginning of the quarter, in percent of the quarter's output; it is negative if the
      country is a creditor.

    Parameters
    ----------
    values, errors : dict of str to float
        Each moment and its standard error; nan if a series is constant or there is no sample. ``mean_spread``,
        ``sd_spread``, ``mean_debt``: means and standard deviation, in percent. ``default_rate``: defaults per hundred
        years, over all quarters, those of exclusion included. ``relative_sd``: standard deviation of consumption,
        divided by that of output. ``spread_output``, ``trade_output``, ``consumption_output``,
        ``spread_consumption``: correlations.
    quarters, defaults : int
        Number of quarters in the sample, and of defaults in all quarters.
    how : str
        Description of the simulation in a sentence.
    """

    values: dict[str, float]
    errors: dict[str, float]
    quarters: int
    defaults: int
    how: str

    def __str__(self) -> str:
        width = max(map(len, MOMENTS.values()))
        lines = [f"  {'':<{width}}{'moment':>12}{'standard error':>18}"]
        for name, text in MOMENTS.items():
            value, error = (f"{v:.4g}" if np.isfinite(v) else "-" for v in (self.values[name], self.errors[name]))
            lines.append(f"  {text:<{width}}{value:>12}{error:>18}")
        return "\n".join(["Moments, Arellano's economy", *lines, f"  {self.how}"])

    __repr__ = __str__
    _repr_html_ = as_html


@njit(cache=True)
def _follow(
    policy: NDArray[np.int32], cumulative: Array, reentry: float, zero: int, s: int, draws: Array,
    what: NDArray[np.int8], points: NDArray[np.int32], states: NDArray[np.int32],
) -> None:  # fmt: skip
    last = cumulative.shape[0] - 1
    x, good = zero, True
    for t in range(what.size):
        points[t], states[t] = x, s
        if good and policy[x, s] >= 0:
            what[t] = REPAID
            x = policy[x, s]
        else:
            what[t] = DEFAULTED if good else OUT
            x = zero
            good = draws[t, 1] < reentry
        s = min(np.searchsorted(cumulative[s], draws[t, 0], side="right"), last)


def follow(choices: Choices, first: int, draws: Array) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int32]]:
    """Simulate one path that starts in good standing without debt.

    Parameters
    ----------
    choices : Choices
    first : int
        State of income in the first quarter.
    draws : (T, 2) array
        Uniform random numbers of each quarter: for the next income, and for the return to good standing.

    Returns
    -------
    what, points, states : (T,) arrays
        :data:`REPAID`, :data:`DEFAULTED` or :data:`OUT`; index of the bonds; state of income.
    """
    cumulative, total = np.cumsum(choices.transition, axis=1), len(draws)
    what, points, states = np.empty(total, np.int8), np.empty(total, np.int32), np.empty(total, np.int32)
    _follow(choices.policy, cumulative, choices.reentry, choices.zero, first, draws, what, points, states)
    return what, points, states


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over samples, one row for each: numbers of quarters, sums of series and of their products, defaults."""

    count: Array
    first: Array
    second: Array
    defaults: Array
    quarters: Array

    def less_each(self) -> _Sums:
        """Return for each sample the sums over all other samples."""
        return _Sums(*(table.sum(axis=0) - table for table in self._tables()))

    def together(self) -> _Sums:
        """Return the sums over all samples."""
        return _Sums(*(table.sum(axis=0, keepdims=True) for table in self._tables()))

    def _tables(self) -> tuple[Array, ...]:
        return self.count, self.first, self.second, self.defaults, self.quarters

    def moments(self) -> Array:
        """Return the moments in the order of :data:`MOMENTS`, ``(samples, moments)``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.first / self.count[:, None]
            square = self.second / self.count[:, None, None]
            covariance = square - mean[:, :, None] * mean[:, None, :]
            variance, whole_square = (np.diagonal(table, axis1=1, axis2=2) for table in (covariance, square))
            sd = np.sqrt(np.where(variance <= NOISE * whole_square, 0.0, variance))
            moved = np.where(sd > 0.0, sd, np.nan)
            correlation = covariance / (moved[:, :, None] * moved[:, None, :])
            return np.stack(
                [
                    mean[:, SPREAD],
                    sd[:, SPREAD],
                    mean[:, DEBT],
                    100.0 * YEAR * self.defaults / self.quarters,
                    sd[:, CONSUMPTION] / moved[:, OUTPUT],
                    correlation[:, SPREAD, OUTPUT],
                    correlation[:, TRADE, OUTPUT],
                    correlation[:, CONSUMPTION, OUTPUT],
                    correlation[:, SPREAD, CONSUMPTION],
                ],
                axis=1,
            )


def business_cycle(
    choices: Choices, paths: int, periods: int, burn_in: int, seed: int, before_default: int | None
) -> BusinessCycle:
    """Simulate and compute the moments; the method :meth:`beltline.DefaultEconomy.moments` calls this."""
    limit = f"a whole number from {{}} to {PERIODS_LIMIT}"
    paths = whole("paths", paths, limit.format(2), lambda v: 2 <= v <= PERIODS_LIMIT)
    periods = whole("periods", periods, limit.format(2), lambda v: 2 <= v <= PERIODS_LIMIT)
    burn_in = whole("burn_in", burn_in, limit.format(0), lambda v: 0 <= v <= PERIODS_LIMIT)
    seed = whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0)
    if before_default is not None:
        wanted = f"a whole number from 1 to periods - 1 = {periods - 1}, or None"
        before_default = whole("before_default", before_default, wanted, lambda v: 1 <= v < periods)
    # Spreads are infinite where the price of the bonds that are sold is 0.
    with np.errstate(invalid="ignore"):
        sums = _simulated(choices, paths, periods, burn_in, seed, before_default)
        found = sums.together().moments()[0]
        others = sums.less_each().moments()
        errors = np.sqrt((paths - 1) / paths * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
    part = "" if before_default is None else f", of these the {before_default} quarters before a default"
    return BusinessCycle(
        values=dict(zip(MOMENTS, found.tolist(), strict=True)),
        errors=dict(zip(MOMENTS, errors.tolist(), strict=True)),
        quarters=int(sums.count.sum()),
        defaults=int(sums.defaults.sum()),
        how=f"{paths:,} paths of {periods:,} quarters after {burn_in:,} that were dropped, seed {seed}{part}.",
    )


def _simulated(
    choices: Choices, paths: int, periods: int, burn_in: int, seed: int, before_default: int | None
) -> _Sums:
    begin = np.cumsum(chain_distribution(choices.transition))
    series = choices.series()
    sums = _Sums(
        np.zeros(paths), np.zeros((paths, 5)), np.zeros((paths, 5, 5)), np.zeros(paths), np.full(paths, float(periods))
    )
    for path, source in enumerate(np.random.SeedSequence(seed).spawn(paths)):
        random = np.random.default_rng(source)
        s = min(int(np.searchsorted(begin, random.random(), side="right")), begin.size - 1)
        what, points, states = follow(choices, s, random.random((burn_in + periods, 2)))
        sampled = _sample(what[burn_in:], before_default)
        values = series[:, points[burn_in:][sampled], states[burn_in:][sampled]]
        sums.count[path] = sampled.sum()
        sums.first[path] = values.sum(axis=1)
        sums.second[path] = values @ values.T
        sums.defaults[path] = (what[burn_in:] == DEFAULTED).sum()
    return sums


def _sample(what: NDArray[np.int8], before_default: int | None) -> NDArray[np.bool_]:
    """Return which quarters are in the sample: all in which debt is repaid, or those of them just before defaults."""
    repaid = what == REPAID
    if before_default is None:
        return repaid
    sampled = np.zeros(what.size, bool)
    # A sequence of quarters in which debt is repaid ends with a default or with the path.
    others = np.flatnonzero(~repaid)
    for before, end in zip(np.append(-1, others), others, strict=False):
        if what[end] == DEFAULTED and end - before - 1 >= before_default:
            sampled[end - before_default : end] = True
    return sampled
