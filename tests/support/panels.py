"""A chain and a policy for panels."""

import numpy as np

CHAIN = np.array(
    [
        [0.525, 0.35, 0.03125, 0.09375],
        [0.038889, 0.836111, 0.002083, 0.122917],
        [0.09375, 0.03125, 0.291667, 0.583333],
        [0.009115, 0.115885, 0.024306, 0.850694],
    ]
)


SHARES = [0.10, 0.04]


def surface(points=60, means=5):
    """Return a nonlinear, increasing policy on an uneven grid, which never leaves the grid."""
    x = 200 * np.linspace(0, 1, points) ** 4
    m = np.linspace(30, 50, means) + np.linspace(0, 1, means) ** 2
    k, mean, state, work = np.ix_(x, m, np.array([-1.0, 1.0]), np.array([0.0, 1.0]))
    return np.maximum(0, 0.96 * k - 0.1 * np.sqrt(k) + 1.6 * work + 0.3 * state + 0.02 * (mean - 38)), x, m
