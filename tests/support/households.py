"""Krusell and Smith's household, as the solvers of Euler equations take it."""

import numpy as np

from beltline.gpu_ref.krusell_smith.euler_iteration import solve

LAW = np.array([[0.127, 0.9647], [0.1385, 0.963]])


def household(economy, law=LAW, tol=1e-8, *, solve=solve, **options):
    """Solve the household of ``economy`` by ``solve``, on the processor by default."""
    k, means = economy.grid, economy.mean_grid
    ahead = economy.ahead(law)
    wealth = economy.wealth(k).reshape(k.size, means.size, 4)
    return solve(
        k, means, wealth, ahead, economy.gross(ahead), economy.income(ahead).reshape(means.size, 2, 4),
        economy.transition, economy.beta, economy.eta, 0.9 * np.broadcast_to(k[:, None, None], wealth.shape), tol,
        **options,
    )  # fmt: skip
