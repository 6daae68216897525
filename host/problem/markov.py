"""Markov chains for autoregressive processes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import ProblemError, first, place, real, table
from beltline.host.problem.model_parameters import chain_size, parameter


def tauchen(
    n: int, rho: float, sigma: float, mean: float = 0.0, width: float = 3.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate ``y' = mean (1 - rho) + rho y + e``, ``e ~ N(0, sigma**2)``, by a Markov chain (Tauchen 1986).

    Parameters
    ----------
    n
        Number of states, 1 to ``CHAIN_LIMIT``. One state is the unconditional mean.
    rho
        Persistence, above -1 and below 1.
    sigma
        Standard deviation of ``e``, above 0.
    mean
        Unconditional mean of ``y``.
    width
        Half-width of the grid in unconditional standard deviations ``sigma / sqrt(1 - rho**2)``, above 0.

    Returns
    -------
    grid : (n,) float64 array
        Evenly spaced values of ``y`` (``ln z`` where ``y`` is the log of productivity).
    transition : (n, n) float64 array
        Probability of each interval around a grid point, given the row's point; the first and the last interval
        reach to infinity. Rows sum to 1 within one rounding.

    Raises
    ------
    ProblemError
        An argument out of range.

    Sources
    -------
    Tauchen (1986), "Finite state Markov-chain approximations to univariate and vector autoregressions",
    Economics Letters 20, 177-181.
    """
    n = chain_size("n", n)
    rho = parameter("rho", rho)
    sigma = parameter("sigma", sigma)
    mean = real("mean", mean, "a finite number", math.isfinite)
    width = parameter("width", width)
    if n == 1:
        return np.array([mean]), np.ones((1, 1))
    half = width * sigma / math.sqrt((1 - rho) * (1 + rho))
    offsets = np.linspace(-half, half, n)
    edges = (offsets[:-1] + offsets[1:]) / 2
    transition = np.empty((n, n))
    for s in range(n):
        z = (edges - rho * offsets[s]) / (sigma * math.sqrt(2))
        # Both tails by erfc keep the relative accuracy of probabilities far from the centre; an interval's
        # probability is taken in the tail where its two ends are small.
        below = np.array([0.0, *(0.5 * math.erfc(-v) for v in z), 1.0])
        above = np.array([1.0, *(0.5 * math.erfc(v) for v in z), 0.0])
        transition[s] = np.where(below[1:] <= 0.5, np.diff(below), -np.diff(above))
        transition[s] /= transition[s].sum()
    return mean + offsets, transition


def rouwenhorst(n: int, rho: float, sigma: float, mean: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate ``y' = mean (1 - rho) + rho y + e``, ``e ~ N(0, sigma**2)``, by a Markov chain (Rouwenhorst 1995).

    The chain is that of the number of heads among ``n - 1`` coins, each of which stays as it is with probability
    ``(1 + rho)/2``. It has the process's mean, variance ``sigma**2/(1 - rho**2)`` and autocorrelation ``rho`` exactly,
    for every ``n`` from 2, which :func:`tauchen`'s has not, least of all where ``rho`` is near 1.

    Parameters
    ----------
    n
        Number of states, 1 to ``CHAIN_LIMIT``. One state is the unconditional mean.
    rho
        Persistence, above -1 and below 1.
    sigma
        Standard deviation of ``e``, above 0.
    mean
        Unconditional mean of ``y``.

    Returns
    -------
    grid : (n,) float64 array
        Evenly spaced values of ``y``, ``sqrt(n - 1)`` unconditional standard deviations to either side of the mean.
    transition : (n, n) float64 array
        Rows sum to 1 within a few roundings.

    Raises
    ------
    ProblemError
        An argument out of range.

    Sources
    -------
    Rouwenhorst (1995), "Asset pricing implications of equilibrium business cycle models", in Cooley (ed.), Frontiers of
    Business Cycle Research, 294-330. Kopecky and Suen (2010), "Finite state Markov-chain approximations to highly
    persistent processes", Review of Economic Dynamics 13(3), 701-714.
    """
    n = chain_size("n", n)
    rho = parameter("rho", rho)
    sigma = parameter("sigma", sigma)
    mean = real("mean", mean, "a finite number", math.isfinite)
    half = math.sqrt(n - 1) * sigma / math.sqrt((1 - rho) * (1 + rho))
    return mean + (np.linspace(-half, half, n) if n > 1 else np.zeros(1)), _coins(n, (1 + rho) / 2)


def rouwenhorst_by_age(n: int, rho: float, sigma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate ``y_t = rho y_(t-1) + e_t``, ``e_t ~ N(0, sigma_t**2)``, from ``y = 0`` on, by a chain by age.

    The grid spreads with the variance of ``y_t``, so that ``rho`` may be 1, a random walk. The chain has the process's
    variance at each age and its autocovariances exactly, for every ``n`` from 2. At the first age its states have the
    probabilities of ``n - 1`` coins, ``(n - 1 over k) / 2**(n - 1)``.

    Parameters
    ----------
    n
        Number of states, 1 to ``CHAIN_LIMIT``. One state is 0.
    rho
        Persistence, above -1 and at most 1.
    sigma : (T,) array
        Standard deviation of ``e_t`` at each age, above 0.

    Returns
    -------
    grid : (T, n) float64 array
        Evenly spaced values of ``y_t``, ``sqrt(n - 1)`` standard deviations to either side of 0.
    transition : (T - 1, n, n) float64 array
        From each age to the next; rows sum to 1 within a few roundings.

    Raises
    ------
    ProblemError
        An argument out of range.

    Sources
    -------
    Fella, Gallipoli and Pan (2019), "Markov-chain approximations for life-cycle models", Review of Economic Dynamics
    34, 183-201.
    """
    n = chain_size("n", n)
    rho = real("rho", rho, "a number above -1 and at most 1", lambda v: -1 < v <= 1)
    shocks = table("sigma", sigma, 1)
    if not (shocks > 0).all():
        where = first(~(shocks > 0))
        raise ProblemError(f"sigma must be above 0, but {place('sigma', where)} is {shocks[where]:.6g}")
    spread = np.empty(shocks.size)
    variance = 0.0
    for t, shock in enumerate(shocks.tolist()):
        variance = rho**2 * variance + shock**2
        spread[t] = math.sqrt(variance)
    grid = spread[:, None] * (math.sqrt(n - 1) * np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1))
    stay = (1 + rho * spread[:-1] / spread[1:]) / 2
    transition = np.array([_coins(n, one) for one in stay.tolist()])
    return grid, transition.reshape(-1, n, n)


def _coins(n: int, stay: float) -> NDArray[np.float64]:
    """The chain of the number of heads among ``n - 1`` coins, each of which stays as it is with that probability."""
    transition = np.ones((1, 1))
    for size in range(2, n + 1):
        # One coin more, counted once as the first and once as the last, but for the two rows where all are alike.
        wider = np.zeros((size, size))
        wider[:-1, :-1] += stay * transition
        wider[:-1, 1:] += (1 - stay) * transition
        wider[1:, :-1] += (1 - stay) * transition
        wider[1:, 1:] += stay * transition
        wider[1:-1] /= 2
        transition = wider / wider.sum(axis=1, keepdims=True)
    return transition
