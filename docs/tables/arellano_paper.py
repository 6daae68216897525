"""Table 4 of Arellano (2008) beside the same statistics of our solution, for the table of ``docs/arellano.md``.

Each statistic is computed in a sample of the 74 quarters before a default, and the table has the means over samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import policy_of
from beltline.host.models.arellano.business_cycle import (
    CONSUMPTION,
    DEBT,
    DEFAULTED,
    OUTPUT,
    REPAID,
    SPREAD,
    TRADE,
    YEAR,
    series_of,
    simulated,
)  # fmt: skip
from beltline.host.models.arellano.model import Arellano, DefaultEconomy, arellano
from beltline.host.problem.arrays import Array
from beltline.host.solver.solve import solve

TOL = 1e-6
"""Tolerance of the published times and of these tables."""

WINDOW = 74
"""Number of quarters before a default in a sample."""

PRINTED = 100
"""Number of samples of the paper."""

STATISTICS = {
    "mean spread, percent per year": 3.58,
    "sd of the spread": 6.36,
    "sd of the trade balance, percent of output": 1.50,
    "sd of consumption, percent": 6.38,
    "the same, less a linear trend": 6.38,
    "sd of output, percent": 5.81,
    "the same, less its linear trend": 5.81,
    "correlation of spread and output": -0.29,
    "correlation of trade balance and output": -0.25,
    "correlation of trade balance and spread": 0.43,
    "correlation of consumption and output": 0.97,
    "correlation of consumption and spread": -0.36,
    "mean debt, percent of output": 5.95,
    "the same, of the quarters with debt": 5.95,
    "spread in the last quarter": 24.32,
    "output in the quarter of default, percent": -9.60,
    "the same, relative to its sample": -9.60,
    "output in default and exclusion, percent": -8.13,
    "defaults per hundred years": 3.00,
}
"""Statistics of table 4, in the order of ours; from MPRA paper 7867, the version of March 2008. In the quarter of
default the paper also has consumption, -9.47, and the trade balance, -0.01; in the model they are output and 0."""

SAMPLED = len(STATISTICS) - 2
"""Number of statistics that are means over samples; the last two are over all quarters."""

QUADRATURE = "quadrature"
"""Name of the chain of Tauchen and Hussey (1991), with which the paper discretises income."""

CASES = (("even", 21, 41), (QUADRATURE, 21, 201), ("even", 21, 201), ("even", 51, 251), ("even", 201, 1_001))
"""Chain, number of incomes and number of bonds of each column; the paper has 21 incomes and 200 bonds."""

QUARTERS = 200_000
"""Number of quarters that are simulated at a time."""


def tauchen_hussey(n: int, rho: float, sigma: float) -> tuple[Array, Array]:
    """Approximate ``y' = rho y + e``, ``e ~ N(0, sigma**2)``, by the nodes of Gauss-Hermite quadrature for ``e``.

    Returns
    -------
    grid, transition : (n,) and (n, n) float64 arrays

    Sources
    -------
    Tauchen and Hussey (1991), "Quadrature-based methods for obtaining approximate solutions to nonlinear asset pricing
    models", Econometrica 59(2), 371-396.
    """
    nodes, weights = np.polynomial.hermite.hermgauss(n)
    grid = math.sqrt(2.0) * sigma * nodes
    # Densities of y' given y, relative to those of the quadrature's weight, which is that given y = 0.
    exponent = (grid**2 - (grid - rho * grid[:, None]) ** 2) / (2.0 * sigma**2)
    transition = weights * np.exp(exponent)
    return grid, transition / transition.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class QuadratureEconomy(Arellano):
    """The economy with the chain of :func:`tauchen_hussey`; ``width`` has no effect."""

    @property
    def chain(self) -> tuple[Array, Array]:
        """Income by state and its Markov matrix, as :attr:`Arellano.chain`."""
        logs, transition = tauchen_hussey(self.incomes, self.rho, self.sigma)
        return np.exp(logs), transition

    @property
    def mean_income(self) -> float:
        """Mean of income under the stationary distribution of the chain."""
        income, transition = self.chain
        return float(chain_distribution(transition) @ income)


def economy(chain: str, incomes: int, bonds: int) -> DefaultEconomy:
    """Solve the economy with a chain of :data:`CASES`."""
    model: Arellano = arellano(bonds=bonds, incomes=incomes)
    if chain == QUADRATURE:
        model = QuadratureEconomy(**{each.name: getattr(model, each.name) for each in fields(model)})
    found: DefaultEconomy = solve(model, tol=TOL, progress=False)
    return found


def statistics(found: DefaultEconomy, samples: int, seed: int = 0) -> tuple[Array, Array]:
    """Simulate until there are ``samples`` samples, and return their statistics.

    Output and consumption of a sample are in logarithms. Output in the quarter of default is given relative to mean
    income, and relative to the mean logarithm of its sample. The paper treats its samples like its data, from which a
    linear trend was removed. Standard deviations are therefore given before and after removing one.

    Returns
    -------
    by_sample : (samples, SAMPLED) array
        Statistics of each sample; nan for correlations with a spread that is constant.
    overall : (2,) array
        Output in quarters of default and exclusion, in percent of its mean; and defaults per hundred years.
    """
    policy, model = policy_of(found.solution), found.model
    series, begin = series_of(found), chain_distribution(model.chain[1])
    lost = 100.0 * (model.default_income / model.mean_income - 1.0)
    random = np.random.default_rng(seed)
    found_samples: list[Array] = []
    defaults, quarters, outside, output = 0, 0, 0, 0.0
    while len(found_samples) < samples:
        first = random.choice(begin.size, p=begin)
        what, points, states = simulated(policy, (model.zero, first, 0), random.random((QUARTERS, 2)))
        quarters += QUARTERS
        defaults += int((what == DEFAULTED).sum())
        others = np.flatnonzero(what != REPAID)
        outside += others.size
        output += float(lost[states[others]].sum())
        for before, end in zip(np.append(-1, others), others, strict=False):
            if what[end] == DEFAULTED and end - before > WINDOW:
                before_it = series[:, points[end - WINDOW : end], states[end - WINDOW : end]]
                fallen = 100.0 * (math.log(model.default_income[states[end]]) - before_it[OUTPUT].mean())
                found_samples.append(np.append(_sample(before_it), [lost[states[end]], fallen]))
        if not found_samples:
            raise RuntimeError(f"no default after {WINDOW} quarters of repayment in {QUARTERS:,} quarters")
    return np.array(found_samples[:samples]), np.array([output / outside, 100.0 * YEAR * defaults / quarters])


def _sample(series: Array) -> Array:
    """Return the statistics of one sample, ``series`` of shape ``(5, WINDOW)``, without the last two."""
    time = np.arange(WINDOW) - (WINDOW - 1) / 2
    moved = series - series.mean(axis=1, keepdims=True)
    sd = moved.std(axis=1)
    left = moved - (moved @ time)[:, None] * time / (time @ time)
    with np.errstate(invalid="ignore", divide="ignore"):
        related = (moved @ moved.T) / WINDOW / np.outer(sd, sd)
    return np.array(
        [
            series[SPREAD].mean(), sd[SPREAD], sd[TRADE],
            100.0 * sd[CONSUMPTION], 100.0 * left[CONSUMPTION].std(), 100.0 * sd[OUTPUT], 100.0 * left[OUTPUT].std(),
            related[SPREAD, OUTPUT], related[TRADE, OUTPUT], related[TRADE, SPREAD],
            related[CONSUMPTION, OUTPUT], related[CONSUMPTION, SPREAD],
            series[DEBT].mean(),
            series[DEBT, series[DEBT] > 0.0].mean() if (series[DEBT] > 0.0).any() else np.nan,
            series[SPREAD, -1],
        ]
    )  # fmt: skip


def table(cases: Sequence[tuple[str, int, int]] = CASES, samples: int = 2_000) -> None:
    """Print table 4 beside ours; standard errors in brackets are of a mean over the number of samples of the paper."""
    columns = {}
    for chain, incomes, bonds in cases:
        found = economy(chain, incomes, bonds)
        name = f"{incomes} x {bonds:,}{', quadrature' if chain == QUADRATURE else ''}"
        columns[name] = statistics(found, samples)
        if not found.success:
            print(f"{name}: {found.message}\n")
    print(f"| incomes x bonds | paper, 21 x 200 | {' | '.join(columns)} |\n|---|---:|{'---:|' * len(columns)}")
    for number, (text, printed) in enumerate(STATISTICS.items()):
        cells = []
        for by_sample, overall in columns.values():
            if number >= SAMPLED:
                cells.append(f"{overall[number - SAMPLED]:.2f}")
                continue
            values = by_sample[:, number]
            cells.append(f"{np.nanmean(values):.2f} ({np.nanstd(values) / math.sqrt(PRINTED):.2f})")
        print(f"| {text} | {printed:.2f} | {' | '.join(cells)} |")
    print(f"\n{samples:,} samples of {WINDOW} quarters, seed 0.\n")
