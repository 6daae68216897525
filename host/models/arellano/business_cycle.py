"""Business cycle moments of simulated quarters of an economy with default, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import PERIODS_LIMIT, Policy, policy_of
from beltline.host.analysis.simulation import check_draws, follow
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import whole
from beltline.host.problem.report import as_html

PATHS = 100
"""Default number of independent paths."""

YEAR = 4
"""Number of quarters in a year."""

REPAID, DEFAULTED, OUT = range(3)
"""Alternatives of a quarter: debt is repaid, the government defaults, or it is excluded after a default."""

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


def business_cycle(
    economy: Any, paths: int, periods: int, burn_in: int, seed: int, before_default: int | None
) -> BusinessCycle:
    """Simulate and compute the moments; the method :meth:`beltline.DefaultEconomy.moments` calls this."""
    wanted = f"a whole number from 2 to {PERIODS_LIMIT}"
    paths = whole("paths", paths, wanted, lambda v: 2 <= v <= PERIODS_LIMIT)
    periods, burn_in, seed = check_draws(periods, burn_in, seed, least=2)
    if before_default is not None:
        wanted = f"a whole number from 1 to periods - 1 = {periods - 1}, or None"
        before_default = whole("before_default", before_default, wanted, lambda v: 1 <= v < periods)
    # Spreads are infinite where the price of the bonds that are sold is 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = _sums(economy, paths, periods, burn_in, seed, before_default)
        total = sums.sum(axis=0)
        found, others = _moments(total[None])[0], _moments(total - sums)
        errors = np.sqrt((paths - 1) / paths * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
    part = "" if before_default is None else f", of these the {before_default} quarters before a default"
    return BusinessCycle(
        values=dict(zip(MOMENTS, found.tolist(), strict=True)),
        errors=dict(zip(MOMENTS, errors.tolist(), strict=True)),
        quarters=int(total[0]),
        defaults=int(total[1]),
        how=f"{paths:,} paths of {periods:,} quarters after {burn_in:,} that were dropped, seed {seed}{part}.",
    )


def simulated(policy: Policy, start: tuple[int, int, int], draws: Array) -> NDArray[np.int32]:
    """Return what happens, the index of the bonds and the state of income in each quarter, ``(3, T)``, given uniform
    random numbers, ``(T, 2)``, for the next income and for the return to good standing.
    """
    # What is taken is certain, so that the draws of alternatives do not matter.
    x, s, r = start
    uniform = draws[:, [0, 1, 1, 0]].T[:, None]
    return follow([policy], uniform, np.array([[r], [x], [s]], np.int32), draws.shape[0])[1:, 0]


def _sums(economy: Any, paths: int, periods: int, burn_in: int, seed: int, before_default: int | None) -> Array:
    """Return for each path the quarters of the sample, defaults, all quarters, and the sums of series and products."""
    policy, zero, chain = policy_of(economy.solution), economy.model.zero, economy.model.chain[1]
    begin, series = np.cumsum(chain_distribution(chain)), series_of(economy)
    sums = np.empty((paths, 3 + 5 + 25))
    for path, source in enumerate(np.random.SeedSequence(seed).spawn(paths)):
        random = np.random.default_rng(source)
        s = min(int(np.searchsorted(begin, random.random(), side="right")), begin.size - 1)
        what, points, states = simulated(policy, (zero, s, 0), random.random((burn_in + periods, 2)))[:, burn_in:]
        sampled = _sample(what, before_default)
        values = series[:, points[sampled], states[sampled]]
        sums[path, :3] = sampled.sum(), (what == DEFAULTED).sum(), periods
        sums[path, 3:8], sums[path, 8:] = values.sum(axis=1), (values @ values.T).ravel()
    return sums


def series_of(economy: Any) -> Array:
    """Return the five series by state, ``(5, N_B, N_y)``; nan in the default set."""
    income = np.broadcast_to(economy.income, economy.policy.shape)
    spread = np.take_along_axis(economy.spreads, np.maximum(economy.policy, 0), axis=0)
    spent, debt = economy.consumption, -economy.bonds[:, None] / income
    tables = np.stack([100.0 * spread, 100.0 * (1.0 - spent / income), np.log(spent), np.log(income), 100.0 * debt])
    return np.where(economy.policy >= 0, tables, np.nan)


def _moments(sums: Array) -> Array:
    """Return the moments in the order of :data:`MOMENTS`, ``(samples, moments)``, from the sums of each sample."""
    count, defaults, quarters = sums[:, :3].T
    mean, square = sums[:, 3:8] / count[:, None], sums[:, 8:].reshape(-1, 5, 5) / count[:, None, None]
    covariance = square - mean[:, :, None] * mean[:, None, :]
    variance, mean_square = (np.diagonal(table, axis1=1, axis2=2) for table in (covariance, square))
    sd = np.sqrt(np.where(variance <= NOISE * mean_square, 0.0, variance))
    moved = np.where(sd > 0.0, sd, np.nan)
    correlation = covariance / (moved[:, :, None] * moved[:, None, :])
    return np.stack(
        [
            mean[:, SPREAD],
            sd[:, SPREAD],
            mean[:, DEBT],
            100.0 * YEAR * defaults / quarters,
            sd[:, CONSUMPTION] / moved[:, OUTPUT],
            correlation[:, SPREAD, OUTPUT],
            correlation[:, TRADE, OUTPUT],
            correlation[:, CONSUMPTION, OUTPUT],
            correlation[:, SPREAD, CONSUMPTION],
        ],
        axis=1,
    )


def _sample(what: NDArray[np.int32], before_default: int | None) -> NDArray[np.bool_]:
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
