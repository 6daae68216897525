"""A life-cycle model of saving with uncertain wages."""

from __future__ import annotations

import numpy as np

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.grids import grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    CHAIN_SIZE,
    GRID_SIZE,
    POSITIVE,
    RATE,
    RISK_AVERSION,
    SHARE,
    count,
    levels,
)
from beltline.host.problem.problem import HORIZON_LIMIT, Problem


def life_cycle(
    grid: int = 1500,
    states: int = 15,
    ages: int = 10,
    beta: float = 0.97,
    eta: float = 2.0,
    interest: float = 0.07,
    wage: float = 5.0,
    rho: float = 0.99,
    sigma: float = 0.02058,
    width: float = 1.5,
    low: float = 0.1,
    high: float = 4.0,
) -> Problem:
    """Set up the life-cycle model of a worker with assets ``x`` and productivity ``e`` who leaves no bequest.

    At each of finitely many ages the worker solves::

        V_t(x, e) = max over x' of  U((1 + interest) x + wage e - x')  +  beta E[V_(t+1)(x', e') | e]
        ln e' = rho ln e + u,   u ~ N(0, sigma**2)

    with CRRA utility and a value of 0 after the last age. Productivity is discretised by :func:`beltline.tauchen`. The
    grid of assets is uniform from ``low`` to ``high``; ``x'`` is at least ``low`` at every age, also at the last one.
    ``value`` and ``policy`` of the result have the age as first axis.

    Parameters
    ----------
    grid : int
        Number of grid points of assets, from 2.
    states : int
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    ages : int
        Number of ages, 1 to ``HORIZON_LIMIT``.
    beta : float
        Discount factor from age to age, above 0 and below 1.
    eta : float
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest : float
        Interest rate on assets from age to age, above -1; 0.07 is 7%.
    wage : float
        Wage of a unit of productivity at each age, above 0, in units of the good.
    rho : float
        Autocorrelation of ``ln e``, above -1 and below 1.
    sigma : float
        Standard deviation of the shock to ``ln e``, above 0.
    width : float
        Half-width of the productivity grid in unconditional standard deviations, above 0.
    low, high : float
        Lowest and highest assets of the grid, in units of the good.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        An argument is out of range, a worker with the lowest income cannot afford assets of ``low``, or the tables do
        not fit into the memory of this computer.

    Sources
    -------
    Model: Fernandez-Villaverde and Zarruk Valencia (2018), "A practical guide to parallelization in economics", NBER
    working paper 24561. Calibration: Oswald, "GPU computing with Julia" (a tutorial).

    Examples
    --------
    >>> import beltline as bl
    >>> bl.solve(bl.life_cycle(grid=100, states=3), progress=False).value.shape
    (10, 100, 3)
    """
    states = CHAIN_SIZE("states", states)
    ages = count(1, HORIZON_LIMIT)("ages", ages)
    beta = SHARE("beta", beta)
    eta = RISK_AVERSION("eta", eta)
    interest = RATE("interest", interest)
    wage = POSITIVE("wage", wage)
    assets = grid_uniform(low, high, GRID_SIZE("grid", grid))
    check_tables(7 * assets.size * states, grid=assets.size, states=states)
    log_e, transition = tauchen(states, rho, sigma, width=width)
    e = levels("productivity", log_e, "rho, sigma or width")
    wealth = (1 + interest) * assets[:, None] + wage * e
    if (wealth[0] <= assets[0]).any():
        raise ProblemError(
            f"the poorest worker has cash on hand of {wealth[0].min():.6g} and must save at least low = "
            f"{assets[0]:.6g}: raise wage, or lower low"
        )
    return Problem(
        grid=assets,
        wealth=wealth,
        transition=transition,
        beta=beta,
        eta=eta,
        horizon=ages,
        name="life cycle",
        asset="assets x",
        labels=tuple(f"e = {value:.4f}" for value in e),
        marginal_wealth=np.full_like(wealth, 1 + interest),
        output=wealth - assets[:, None],
        shock="productivity e",
        shock_values=e,
        parameters={
            "interest": interest, "wage": wage, "rho": float(rho), "sigma": float(sigma), "width": float(width),
        },
    )  # fmt: skip
