"""Calibration of Krusell and Smith (1998): prices, grids, and the household's problem as tables.

A household owns capital ``k >= 0``, is employed or not (``e``), and lives with aggregate productivity ``a``, bad or
good. The mean of all ``k`` is ``K``:

    r = alpha a (K / (lbar L))^(alpha - 1),      w = (1 - alpha) a (K / (lbar L))^alpha,      L = 1 - u(a)
    W(k, K, a, e) = (1 - delta + r) k + [(1 - tau) lbar e + mu (1 - e)] w,      tau = mu u / (lbar L)

Households believe that ``ln K' = b0(a) + b1(a) ln K``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.remedies import of_sums
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, table
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.model_parameters import POSITIVE, RISK_AVERSION, SHARE, TO_ONE, count, number
from beltline.host.problem.problem import ROW_SUM_TOLERANCE, Problem
from beltline.host.problem.utility import utility
from beltline.host.results.fields import Declared, parameter

AGGREGATES = ("bad", "good")
EMPLOYMENT = ("unemployed", "employed")

TRANSITION = (
    (0.525, 0.35, 0.03125, 0.09375),
    (0.038889, 0.836111, 0.002083, 0.122917),
    (0.09375, 0.03125, 0.291667, 0.583333),
    (0.009115, 0.115885, 0.024306, 0.850694),
)
"""Markov matrix over (bad, unemployed), (bad, employed), (good, unemployed), (good, employed), as published."""

GRID_LIMIT = 2**16
"""Largest number of grid points of ``k``."""

MEANS_LIMIT = 1024
"""Largest number of grid points of ``K``."""

CHOICES = 4096
"""Default number of grid points of a table."""

CHOICE_POWER = 2.0
"""Exponent of that grid's spacing. Larger ones put points closer than fixed point resolves the curvature of utility."""

UNCHANGED = ((0.0, 1.0), (0.0, 1.0))
"""The law of motion under which ``K`` does not change."""


def _rates(name: str, values: Any) -> tuple[float, ...]:
    return tuple(SHARE(f"{name}[{i}]", value) for i, value in enumerate(table(name, values, shape=(2,)).tolist()))


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration(Declared):
    """Parameters and grids of the economy, checked when it is made. A period is a quarter.

    Raises
    ------
    ProblemError
        A parameter is out of range; the message names the first.

    Sources
    -------
    Den Haan, Judd and Juillard (2010), "Computational suite of models with heterogeneous agents: incomplete markets and
    aggregate uncertainty", JEDC 34(1), 1-3; grids of Maliar, Maliar and Valli (2010), JEDC 34(1), 42-49, and Hatcher
    and Scheffel (2016), "Solving the incomplete markets model in parallel using GPU computing and the Krusell-Smith
    algorithm", Computational Economics 48(4), 569-591.
    """

    beta: float = parameter(0.99, SHARE, "Discount factor, above 0 and below 1")
    eta: float = parameter(1.0, RISK_AVERSION, "Relative risk aversion, above 0 and at most 16; 1 is log utility")
    alpha: float = parameter(0.36, SHARE, "Capital share of output, above 0 and below 1")
    delta: float = parameter(0.025, TO_ONE, "Depreciation rate, from 0 to 1")
    hours: float = parameter(1 / 0.9, POSITIVE, "``lbar``: hours of an employed household, above 0")
    benefit: float = parameter(0.15, POSITIVE, "``mu``: unemployment benefit as a share of the wage, above 0")
    spread: float = parameter(
        0.01, number("a number from 0 to below 1", lambda v: 0 <= v < 1),
        "Aggregate productivity is ``1 - spread`` or ``1 + spread``; from 0 and below 1",
    )  # fmt: skip
    unemployment: tuple[float, float] = parameter(
        (0.10, 0.04), _rates, "Unemployment rate in the bad and in the good state, above 0 and below 1"
    )
    transition: Array = parameter(
        lambda: np.array(TRANSITION), lambda name, chain: table(name, chain, 2),
        "Markov matrix over (bad, unemployed), (bad, employed), (good, unemployed), (good, employed)",
        dims=("pair", "next_pair"),
    )  # fmt: skip
    points: int = parameter(100, count(4, GRID_LIMIT), "Number of grid points of ``k``")
    top: float = parameter(1000.0, POSITIVE, "Largest capital ``k`` of the grid, from 0", "units of the good")
    power: float = parameter(
        7.0, number("a number from 1 to 16", lambda v: 1 <= v <= 16), "Exponent of the spacing of the grid of ``k`` "
        "(:func:`beltline.grid_polynomial`)",
    )  # fmt: skip
    means: int = parameter(4, count(2, MEANS_LIMIT), "Number of grid points of ``K``, uniform from ``low`` to ``high``")
    low: float = parameter(30.0, POSITIVE, "Lowest ``K`` of the grid, above 0")
    high: float = parameter(50.0, POSITIVE, "Highest ``K`` of the grid")

    def validate(self) -> None:
        """Check the grids, the transition matrix and the taxes."""
        real("high", self.high, f"a number above low = {self.low:g}", lambda v: v > self.low)
        chain = self.transition
        if chain.shape != (4, 4):
            raise ProblemError(f"transition must have shape (4, 4), not {chain.shape}")
        sums = chain.sum(axis=1)
        for s in range(4):
            if chain[s].min() < 0 or abs(sums[s] - 1) > ROW_SUM_TOLERANCE:
                raise ProblemError(
                    f"rows of transition must be probabilities that sum to 1, but row {s} is {chain[s].tolist()}, "
                    f"which sums to {sums[s]:.15g}{of_sums(chain)}"
                )
        if self.taxes.max() >= 1:
            raise ProblemError(f"benefit = {self.benefit:g} would require a tax of all wages or more")

    @property
    def grid(self) -> Array:
        """Grid of ``k``, ``(N_k,)``."""
        return grid_polynomial(0.0, self.top, self.points, self.power)

    @property
    def mean_grid(self) -> Array:
        """Grid of ``K``, ``(N_K,)``."""
        return np.linspace(self.low, self.high, self.means)

    @property
    def productivity(self) -> Array:
        """Aggregate productivity of the bad and the good state, ``(2,)``."""
        return np.array([1 - self.spread, 1 + self.spread])

    @property
    def taxes(self) -> Array:
        """Tax rate ``tau`` of the bad and the good state, ``(2,)``."""
        u = np.array(self.unemployment)
        return self.benefit * u / (self.hours * (1 - u))

    @property
    def steady_capital(self) -> float:
        """Capital per hour at which ``beta (1 - delta + r) = 1`` without shocks, from which a panel starts."""
        return float(((1 / self.beta - 1 + self.delta) / self.alpha) ** (1 / (self.alpha - 1)))

    def gross(self, mean: Array) -> Array:
        """Return ``1 - delta + r`` for each ``K`` and ``a``; the result has one more axis, of size 2."""
        labour = self.hours * (1 - np.array(self.unemployment))
        ratio = table("mean", mean, above=0.0)[..., None] / labour
        return 1 - self.delta + self.alpha * self.productivity * ratio ** (self.alpha - 1)

    def income(self, mean: Array) -> Array:
        """Return income other than from capital for each ``K``, ``a`` and ``e``; the result has two more axes."""
        labour = self.hours * (1 - np.array(self.unemployment))
        wage = (1 - self.alpha) * self.productivity * (table("mean", mean, above=0.0)[..., None] / labour) ** self.alpha
        return np.stack([self.benefit * wage, (1 - self.taxes) * self.hours * wage], axis=-1)

    def wealth(self, k: Array) -> Array:
        """Return cash on hand ``W`` for all of ``k`` and the grid of ``K``, ``(N_k, N_K, 2, 2)``."""
        k = table("k", k, 1)[:, None, None, None]
        return self.gross(self.mean_grid)[None, :, :, None] * k + self.income(self.mean_grid)

    def ahead(self, law: ArrayLike) -> Array:
        """Return ``K'`` for each point of the grid of ``K`` and each ``a``, limited to the grid, ``(N_K, 2)``."""
        b = table("law", law, shape=(2, 2))
        return np.clip(np.exp(b[:, 0] + b[:, 1] * np.log(self.mean_grid)[:, None]), self.low, self.high)

    def chain(self, law: ArrayLike) -> Array:
        """Return the Markov matrix over (point of the grid of ``K``, ``a``, ``e``), ``(4 N_K, 4 N_K)``.

        ``Q((K_i, a, e) -> (K_j, a', e')) = P((a, e) -> (a', e')) weight_j(K'(K_i, a))``, where the weights are those of
        linear interpolation: expected values are those of a value function that is linear between the points of ``K``.
        """
        n, means = self.means, self.mean_grid
        place = (self.ahead(law) - self.low) / (means[1] - means[0])
        left = np.clip(np.floor(place).astype(int), 0, n - 2)
        share = np.clip(place - left, 0, 1)
        weights = np.zeros((n, 2, n))
        rows, states = np.ix_(range(n), range(2))
        weights[rows, states, left] = 1 - share
        weights[rows, states, left + 1] += share
        joint = self.transition.reshape(2, 2, 2, 2)
        return np.einsum("iaj,aebf->iaejbf", weights, joint).reshape(4 * n, 4 * n)

    def choices(self, points: int = CHOICES) -> Array:
        """Return the grid of ``k`` and ``k'`` of a table."""
        return grid_polynomial(0.0, self.top, points, CHOICE_POWER)

    def problem(self, law: ArrayLike = UNCHANGED, choices: Array | None = None, start: Array | None = None) -> Problem:
        """Return the household's problem as tables.

        Parameters
        ----------
        law
            ``b0`` and ``b1`` of each aggregate state, ``(2, 2)``; only the transition matrix depends on it.
        choices
            Grid of ``k`` and ``k'``, increasing, from 0; by default :meth:`choices`.
        start
            First guess of the value, ``(N_k, 4 N_K)``; by default the utility of consuming, for ever, cash on hand less
            undepreciated capital, which is concave.
        """
        choices = self.choices() if choices is None else table("choices", choices, 1)
        if choices.size < 2 or choices[0] < 0 or not (np.diff(choices) > 0).all():
            raise ProblemError(f"choices must be at least 2 numbers from 0 that increase, not {shown(choices)}")
        wealth = self.wealth(choices).reshape(choices.size, -1)
        gross = np.repeat(self.gross(self.mean_grid).reshape(-1), 2)
        labels = [f"K={k:.4g}, {a}, {e}" for k in self.mean_grid for a in AGGREGATES for e in EMPLOYMENT]
        if start is None:
            start = utility(wealth - (1 - self.delta) * choices[:, None], self.eta) / (1 - self.beta)
        return Problem(
            grid=choices,
            wealth=wealth,
            transition=self.chain(law),
            start=start,
            beta=self.beta,
            eta=self.eta,
            name="Krusell-Smith household",
            asset="capital k",
            labels=tuple(labels),
            marginal_wealth=np.broadcast_to(gross, wealth.shape),
            parameters={"alpha": self.alpha, "delta": self.delta},
        )
