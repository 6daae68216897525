"""Reproduce the values of a published life-cycle program that has an error.

``python -m beltline.gpu_ref.published.life_cycle`` prints them beside those in print and those of the correct model,
which is :func:`beltline.host.models.life_cycle.life_cycle`. The program is Oswald's "GPU computing with Julia", after
Fernandez-Villaverde and Zarruk (2018). It sums expectations in a variable that it resets before the loop over choices
instead of inside it. So choice ``j`` gets the sum of the expectations of all choices up to ``j``::

    objective(j) = U(W - X_j) + beta * sum over i <= j of sum_s' Q(s, s') V(X_i, s')

All these values are negative. So every choice is penalised for the choices below it, and no household saves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cpu import solve_ages
from beltline.gpu_ref.tables import Array, check_tables, expectation
from beltline.gpu_ref.utility import crra_utility

PRINTED = (-2.12087, -2.08143, -2.02839)
"""What the tutorial prints for ``V[x_1, e_1..e_3]`` at age 1."""

WORST, INFEASIBLE = -1e3, -1e5
"""The lowest value of a state, and the utility of a choice that leaves nothing to consume, both as published."""


def tables(grid: int = 1500, states: int = 15) -> tuple[Array, Array, Array]:
    """Return grid, wealth and transition matrix of the tutorial; shapes as in :mod:`beltline.gpu_ref`.

    ``x`` is uniform from 0.1 to 4, ``W = 1.07 x + 5 e``, and ``ln e`` follows a Tauchen chain with persistence 0.99,
    standard deviation 0.02058 and a half-width of 1.5 unconditional standard deviations.
    """
    rho, sigma = 0.99, 0.02058
    half = 1.5 * sigma / math.sqrt(1.0 - rho**2)
    log_e = np.linspace(-half, half, states)
    edges = (log_e[1:] + log_e[:-1]) / 2
    below = [[0.5 * math.erfc(-(edge - rho * y) / (sigma * math.sqrt(2.0))) for edge in edges] for y in log_e]
    Q = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0))), axis=1)
    X = np.linspace(0.1, 4.0, grid)
    return X, 1.07 * X[:, None] + 5.0 * np.exp(log_e), Q


def defective_life(X: ArrayLike, W: ArrayLike, Q: ArrayLike, beta: float, eta: float, ages: int) -> Array:
    """Return the value by age that the published program computes, ``(ages, N_k, N_z)``, the first age first.

    It is not the value of the model. Arguments and errors as in :mod:`beltline.gpu_ref`.
    """
    X, W, Q, following = check_tables(X, W, Q, np.zeros(np.shape(W)), beta, eta)
    values = np.empty((ages, *W.shape))
    for age in range(ages - 1, -1, -1):
        # The published error: the sum runs over all choices so far. The value after the last age is 0.
        piled = np.cumsum(expectation(Q, following, beta), axis=1)
        for s in range(W.shape[1]):
            consumption = W[:, s, None] - X
            objective = crra_utility(consumption, eta) + piled[s]
            objective[consumption <= 0.0] = INFEASIBLE
            values[age, :, s] = np.maximum(objective.max(axis=1), WORST)
        following = values[age]
    return values


def main() -> None:
    """Print the first values of both programs beside those in print."""
    X, W, Q = tables()
    published = defective_life(X, W, Q, 0.97, 2.0, 10)
    correct, policy, _ = solve_ages(X, W, Q, np.zeros_like(W), 0.97, 2.0, 10)
    print("| V at age 1 | in print | the program as published | the model |")
    print("|---|---:|---:|---:|")
    for s, printed in enumerate(PRINTED):
        print(f"| x_1, e_{s + 1} | {printed:.5f} | {published[0, 0, s]:.5f} | {correct[0, 0, s]:.5f} |")
    print(f"\nStates that save more than the least, age 1: {np.mean(policy[0] > 0):.1%} in the model.")


if __name__ == "__main__":
    main()
