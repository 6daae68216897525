"""The real business cycle model."""

from __future__ import annotations

import numpy as np

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    POSITIVE,
    RISK_AVERSION,
    SHARE,
    TO_ONE,
    count,
)
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility

RBC_GRID_LIMIT = 2**20
"""Largest grid, so that a mistyped size is refused before memory is allocated."""


def rbc(
    grid: int = 65_536,
    states: int = 4,
    beta: float = 0.984,
    eta: float = 2.0,
    alpha: float = 0.35,
    delta: float = 0.01,
    rho: float = 0.95,
    sigma: float = 0.005,
    width: float = 3.0,
) -> Problem:
    """Set up the real business cycle model of a planner with capital ``k`` and productivity ``z``.

    The planner solves::

        V(k, z) = max over k' of  U(z k**alpha + (1 - delta) k - k')  +  beta E[V(k', z') | z]
        ln z' = rho ln z + e,   e ~ N(0, sigma**2)

    with CRRA utility ``U(c) = c**(1 - eta) / (1 - eta)``. Productivity is discretised by
    :func:`beltline.tauchen`. The grid of capital is uniform from ``0.95 kss(z_min)`` to ``1.05 kss(z_max)``, where
    ``kss(z) = ((1/beta - 1 + delta) / (alpha z))**(1/(alpha - 1))`` is the steady state of a constant ``z``. The first
    guess is the utility of one period in that steady state, ``V0(k, z) = U(z kss(z)**alpha - delta kss(z))``.

    Parameters
    ----------
    grid : int
        Number of grid points of capital, up to 65536 on a machine and 1048576 on cpu and gpu.
    states : int
        Number of productivity states, up to 16 on a machine, 64 on gpu and 1024 on cpu.
    beta : float
        Discount factor of a period (a quarter with the defaults), above 0 and below 1.
    eta : float
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    alpha : float
        Capital share of output, above 0 and below 1.
    delta : float
        Depreciation rate of a period, from 0 to 1.
    rho : float
        Autocorrelation of ``ln z``, above -1 and below 1.
    sigma : float
        Standard deviation of the shock to ``ln z``, above 0.
    width : float
        Half-width of the productivity grid in unconditional standard deviations, above 0.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        An argument is out of range, with these parameters capital cannot be maintained, or the tables do not fit into
        the memory of this computer.

    Sources
    -------
    Model and calibration: Aldrich, Fernandez-Villaverde, Gallant and Rubio-Ramirez (2011), "Tapping the supercomputer
    under your desk: solving dynamic equilibrium models with graphics processors", JEDC 35(3), 386-393. Peri (2019), "A
    hardware approach to value function iteration", University of Colorado Boulder working paper 19-01.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.solve(bl.rbc(grid=64), progress=False).success
    True
    """
    grid = count(2, RBC_GRID_LIMIT)("grid", grid)
    states = CHAIN_SIZE("states", states)
    beta = SHARE("beta", beta)
    eta = RISK_AVERSION("eta", eta)
    alpha = SHARE("alpha", alpha)
    delta = TO_ONE("delta", delta)
    rho = AUTOCORRELATION("rho", rho)
    sigma = POSITIVE("sigma", sigma)
    width = POSITIVE("width", width)
    check_tables(7 * grid * states, grid=grid, states=states)
    log_z, transition = tauchen(states, rho, sigma, width=width)
    with np.errstate(all="ignore"):
        z = np.exp(log_z)
        steady = ((1 / beta - 1 + delta) / (alpha * z)) ** (1 / (alpha - 1))
        capital = np.linspace(0.95 * steady[0], 1.05 * steady[-1], grid)
        output = z * capital[:, None] ** alpha
        wealth = output + (1 - delta) * capital[:, None]
        marginal_wealth = alpha * z * capital[:, None] ** (alpha - 1) + (1 - delta)
        consumption = z * steady**alpha - delta * steady
    if not (np.isfinite(wealth).all() and steady[0] > 0):
        raise ProblemError(
            f"the steady-state capital of this calibration is {steady[0]:.3g} to {steady[-1]:.3g}, "
            f"which double precision cannot hold: change beta, alpha, delta or sigma"
        )
    if (wealth[0] <= capital[0]).any():
        raise ProblemError(
            f"the state with the least capital and productivity cannot maintain its capital of {capital[0]:.6g}: "
            f"its output {output[0].min():.3g} is below the depreciation, so lower delta, sigma or width"
        )
    return Problem(
        grid=capital,
        wealth=wealth,
        transition=transition,
        start=np.broadcast_to(utility(consumption, eta), wealth.shape),
        beta=beta,
        eta=eta,
        name="RBC",
        asset="capital k",
        labels=tuple(f"z = {value:.4f}" for value in z),
        marginal_wealth=marginal_wealth,
        output=output,
        shock="productivity z",
        shock_values=z,
        parameters={"alpha": alpha, "delta": delta, "rho": rho, "sigma": sigma, "width": width},
    )
