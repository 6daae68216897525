"""Markov chains that approximate autoregressive processes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.problem.checks import real, table
from beltline.host.problem.model_parameters import AUTOCORRELATION, CHAIN_SIZE, FINITE, POSITIVE


def tauchen(
    n: int, rho: float, sigma: float, mean: float = 0.0, width: float = 3.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate a first-order autoregression by a Markov chain, by the method of Tauchen (1986).

    The process is ``y' = mean (1 - rho) + rho y + e`` with ``e ~ N(0, sigma**2)``.

    Parameters
    ----------
    n : int
        Number of states, from 1 to ``CHAIN_LIMIT`` (1,024). With one state the chain stays at ``mean``.
    rho : float
        Autocorrelation, above -1 and below 1.
    sigma : float
        Standard deviation of ``e``, above 0.
    mean : float, default 0
        Unconditional mean of ``y``.
    width : float, default 3
        Distance from the mean to either end of the grid, above 0, in unconditional standard deviations
        ``sigma / sqrt(1 - rho**2)``.

    Returns
    -------
    grid : (n,) float64 array
        Evenly spaced values of ``y``; take ``np.exp(grid)`` where ``y`` is the log of productivity.
    transition : (n, n) float64 array
        ``transition[i, j]`` is the probability, given ``y = grid[i]``, that ``y'`` falls into the interval around
        ``grid[j]``; the first and the last interval extend to infinity. Rows sum to 1 within one rounding.

    Raises
    ------
    ProblemError
        An argument is out of range.

    Sources
    -------
    Tauchen (1986), "Finite state Markov-chain approximations to univariate and vector autoregressions",
    Economics Letters 20, 177-181.

    Examples
    --------
    >>> import beltline as bl
    >>> grid, transition = bl.tauchen(3, rho=0.9, sigma=0.1, width=2.0)
    >>> grid.round(4).tolist()
    [-0.4588, 0.0, 0.4588]
    >>> transition.round(4).tolist()
    [[0.9668, 0.0332, 0.0], [0.0109, 0.9782, 0.0109], [0.0, 0.0332, 0.9668]]
    """
    n = CHAIN_SIZE("n", n)
    rho = AUTOCORRELATION("rho", rho)
    sigma = POSITIVE("sigma", sigma)
    mean = FINITE("mean", mean)
    width = POSITIVE("width", width)
    if n == 1:
        return np.array([mean]), np.ones((1, 1))
    half = width * sigma / math.sqrt((1 - rho) * (1 + rho))
    offsets = np.linspace(-half, half, n)
    edges = (offsets[:-1] + offsets[1:]) / 2
    transition = np.empty((n, n))
    for s in range(n):
        z = (edges - rho * offsets[s]) / (sigma * math.sqrt(2))
        # Each tail has its own erfc, which keeps probabilities far from the centre accurate relative to their size.
        # The probability of an interval is a difference in the tail in which both of its ends are small.
        below = np.array([0.0, *(0.5 * math.erfc(-v) for v in z), 1.0])
        above = np.array([1.0, *(0.5 * math.erfc(v) for v in z), 0.0])
        transition[s] = np.where(below[1:] <= 0.5, np.diff(below), -np.diff(above))
        transition[s] /= transition[s].sum()
    return mean + offsets, transition


def rouwenhorst(n: int, rho: float, sigma: float, mean: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate a first-order autoregression by a Markov chain, by the method of Rouwenhorst (1995).

    The process is ``y' = mean (1 - rho) + rho y + e`` with ``e ~ N(0, sigma**2)``. For every ``n`` from 2 the chain has
    exactly its mean, its variance ``sigma**2 / (1 - rho**2)`` and its autocorrelation ``rho``. The chain of
    :func:`tauchen` has them only approximately, and worst where ``rho`` is near 1.

    The state of the chain is the number of heads among ``n - 1`` coins, each of which keeps its side with probability
    ``(1 + rho) / 2``.

    Parameters
    ----------
    n : int
        Number of states, from 1 to ``CHAIN_LIMIT`` (1,024). With one state the chain stays at ``mean``.
    rho : float
        Autocorrelation, above -1 and below 1.
    sigma : float
        Standard deviation of ``e``, above 0.
    mean : float, default 0
        Unconditional mean of ``y``.

    Returns
    -------
    grid : (n,) float64 array
        Evenly spaced values of ``y``, from ``sqrt(n - 1)`` unconditional standard deviations below the mean to as many
        above it; take ``np.exp(grid)`` where ``y`` is the log of productivity.
    transition : (n, n) float64 array
        Probability of each next state (column) given today's (row). Rows sum to 1 within a few roundings.

    Raises
    ------
    ProblemError
        An argument is out of range.

    Sources
    -------
    Rouwenhorst (1995), "Asset pricing implications of equilibrium business cycle models", in Cooley (ed.), Frontiers of
    Business Cycle Research, 294-330. Kopecky and Suen (2010), "Finite state Markov-chain approximations to highly
    persistent processes", Review of Economic Dynamics 13(3), 701-714.

    Examples
    --------
    >>> import beltline as bl
    >>> grid, transition = bl.rouwenhorst(3, rho=0.8, sigma=0.6)
    >>> grid.round(4).tolist()
    [-1.4142, 0.0, 1.4142]
    >>> transition.round(4).tolist()
    [[0.81, 0.18, 0.01], [0.09, 0.82, 0.09], [0.01, 0.18, 0.81]]
    """
    n = CHAIN_SIZE("n", n)
    rho = AUTOCORRELATION("rho", rho)
    sigma = POSITIVE("sigma", sigma)
    mean = FINITE("mean", mean)
    half = math.sqrt(n - 1) * sigma / math.sqrt((1 - rho) * (1 + rho))
    return mean + (np.linspace(-half, half, n) if n > 1 else np.zeros(1)), _coins(n, (1 + rho) / 2)


def rouwenhorst_by_age(n: int, rho: float, sigma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Approximate an autoregression over the life cycle by a Markov chain whose grid depends on age.

    The process is ``y_t = rho y_(t-1) + e_t`` with ``e_t ~ N(0, sigma_t**2)``, and 0 before the first age. The grid
    widens with the standard deviation of ``y_t``, so that ``rho`` may be 1 (a random walk). For every ``n`` from 2 the
    chain has exactly the variance of the process at each age, and its autocovariances, if at the first age state ``k``
    has the binomial probability ``(n - 1 over k) / 2**(n - 1)``.

    Parameters
    ----------
    n : int
        Number of states, from 1 to ``CHAIN_LIMIT`` (1,024). With one state the chain stays at 0.
    rho : float
        Persistence, above -1 and at most 1.
    sigma : (T,) array
        Standard deviation of ``e_t`` at each age, above 0.

    Returns
    -------
    grid : (T, n) float64 array
        By age: evenly spaced values of ``y_t``, from ``sqrt(n - 1)`` standard deviations below 0 to as many above it.
    transition : (T - 1, n, n) float64 array
        From each age to the next: probability of each next state (column) given today's (row). Rows sum to 1 within a
        few roundings.

    Raises
    ------
    ProblemError
        An argument is out of range.

    Sources
    -------
    Fella, Gallipoli and Pan (2019), "Markov-chain approximations for life-cycle models", Review of Economic Dynamics
    34, 183-201.
    """
    n = CHAIN_SIZE("n", n)
    rho = real("rho", rho, "a number above -1 and at most 1", lambda v: -1 < v <= 1)
    shocks = table("sigma", sigma, 1, above=0.0)
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
    """Return the chain of the number of heads of ``n - 1`` coins, each of which keeps its side with probability
    ``stay``.

    The result is ``(n, n)``. The recursion over the number of coins is that of Rouwenhorst (1995).
    """
    transition = np.ones((1, 1))
    for size in range(2, n + 1):
        # One coin more. Rows in which both sides show count it twice, so they are halved; the first and last do not.
        wider = np.zeros((size, size))
        wider[:-1, :-1] += stay * transition
        wider[:-1, 1:] += (1 - stay) * transition
        wider[1:, :-1] += (1 - stay) * transition
        wider[1:, 1:] += stay * transition
        wider[1:-1] /= 2
        transition = wider / wider.sum(axis=1, keepdims=True)
    return transition
