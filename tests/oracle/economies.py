"""Economies by Euler equations, in plain NumPy and SciPy: endogenous grid method, lotteries over grid points, paths.

Imports nothing of the project. A household has assets on ``grid``, ``(n,)``, a Markov ``chain``, ``(m, m)``, a
discount factor and CRRA utility; at each date it has ``gross * assets + income``, ``income`` ``(m,)``. Choices are
linear in cash on hand between endogenous grid points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity
from scipy.sparse.linalg import spsolve


class Household(NamedTuple):
    """Preferences, grid and chain of a household."""

    grid: Any
    chain: Any
    beta: float
    eta: float

    def cash(self, gross: float, income: Any) -> Any:
        """Return cash on hand, ``(n, m)``."""
        return gross * self.grid[:, None] + np.asarray(income)

    def before(self, eaten: Any, gross_ahead: float, gross: float, income: Any) -> Any:
        """Return consumption at a date, given that of the next date and the return on assets then."""
        wanted = (self.beta * gross_ahead * eaten**-self.eta @ self.chain.T) ** (-1.0 / self.eta) + self.grid[:, None]
        cash = self.cash(gross, income)
        saved = [np.interp(cash[:, s], wanted[:, s], self.grid) for s in range(len(self.chain))]
        return cash - np.stack(saved, axis=1)

    def steady(self, gross: float, income: Any, tol: float = 1e-12) -> Any:
        """Return consumption at constant prices."""
        eaten = 0.5 * (self.cash(gross, income) - self.grid[0])
        for _ in range(100_000):
            ahead = self.before(eaten, gross, gross, income)
            change, eaten = np.abs(ahead - eaten).max(), ahead
            if change < tol:
                return eaten
        raise AssertionError(f"consumption still changes by {change}")

    def moves(self, saved: Any) -> Any:
        """Return the Markov matrix of assets and state, sparse, ``(n m, n m)``, whose rows are states of today."""
        n, m = saved.shape
        below = np.clip(np.searchsorted(self.grid, saved, side="right") - 1, 0, n - 2)
        above = np.clip((saved - self.grid[below]) / np.diff(self.grid)[below], 0.0, 1.0)
        rows, to, chances = [], [], []
        for part, weight in ((below, 1.0 - above), (below + 1, above)):
            rows.append(np.repeat(np.arange(n * m), m))
            to.append((part[..., None] * m + np.arange(m)).ravel())
            chances.append((weight[..., None] * self.chain).ravel())
        ends = np.concatenate(rows), np.concatenate(to)
        return csr_matrix((np.concatenate(chances), ends), shape=(n * m, n * m))

    def stationary(self, saved: Any) -> Any:
        """Return the stationary distribution, ``(n, m)``."""
        step = (identity(saved.size, format="csr") - self.moves(saved)).T.tocsc()
        mass = np.ones(saved.size)
        mass[1:] = spsolve(step[1:, 1:], -step[1:, [0]].toarray().ravel())
        return (mass / mass.sum()).reshape(saved.shape)

    def supply(self, gross: float, income: Any) -> tuple[float, Any]:
        """Return mean assets in the long run, and the distribution."""
        mass = self.stationary(self.cash(gross, income) - self.steady(gross, income))
        return float(mass.sum(axis=1) @ self.grid), mass

    def path(self, gross: Any, income: Any, after: tuple[float, Any], mass: Any) -> tuple[Any, Any]:
        """Return mean assets at the beginning of each date and of the one after, and mean consumption at each date.

        ``gross`` and ``income`` are by date, ``after`` what follows for ever, ``mass`` the first distribution.
        """
        eaten, ahead, consumed = self.steady(*after), after[0], []
        for at, earned in zip(reversed(list(gross)), reversed(list(income)), strict=True):
            eaten = self.before(eaten, ahead, at, earned)
            consumed.append(eaten)
            ahead = at
        assets, spent = [float(mass.sum(axis=1) @ self.grid)], []
        for at, earned, eaten in zip(gross, income, reversed(consumed), strict=True):
            spent.append(float((mass * eaten).sum()))
            mass = (mass.ravel() @ self.moves(self.cash(at, earned) - eaten)).reshape(mass.shape)
            assets.append(float(mass.sum(axis=1) @ self.grid))
        return np.array(assets), np.array(spent)


def gini(grid: Any, mass: Any) -> float:
    """Return the Gini coefficient of assets, as half the mean absolute difference of two households over the mean."""
    share = mass.sum(axis=1)
    apart = np.abs(grid[:, None] - grid[None, :])
    return float(share @ apart @ share / (2.0 * share @ grid))
