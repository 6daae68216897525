"""A life of finitely many ages."""

from __future__ import annotations

import math

import numpy as np

from beltline.host.problem.checks import ProblemError, real, whole
from beltline.host.problem.grids import grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import chain_size, levels, parameter
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
    """Return the life cycle of a worker with assets ``x`` and productivity ``e``, who leaves nothing behind.

    Cash on hand is ``W(x, e) = (1 + interest) x + wage e`` at every age; ``ln e' = rho ln e + u``, ``u ~ N(0,
    sigma**2)``, as a :func:`~beltline.host.problem.markov.tauchen` chain. The grid is uniform from ``low`` to ``high``,
    and whoever lives also keeps ``low`` at least, at the last age too. ``value`` and ``policy`` of the result have the
    age as first axis.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2.
    states
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    ages
        Number of ages, 1 to ``HORIZON_LIMIT``.
    beta
        Discount factor from age to age, above 0 and below 1.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest
        Of assets from age to age, above -1.
    wage
        Of a unit of productivity, above 0, in units of the good.
    rho
        Persistence of ``ln e``, above -1 and below 1.
    sigma
        Standard deviation of the shock to ``ln e``, above 0.
    width
        Half-width of the productivity grid in unconditional standard deviations, above 0.
    low, high
        Ends of the grid, in units of the good.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Sources
    -------
    Fernandez-Villaverde and Zarruk Valencia (2018), "A practical guide to parallelization in economics", NBER working
    paper 24561. Oswald, "GPU computing with Julia" (a tutorial), whose numbers are the defaults.
    """
    states = chain_size("states", states)
    ages = whole("ages", ages, f"a whole number from 1 to {HORIZON_LIMIT}", lambda v: 1 <= v <= HORIZON_LIMIT)
    beta = parameter("beta", beta)
    eta = parameter("eta", eta)
    interest = real("interest", interest, "a number above -1", lambda v: -1 < v < math.inf)
    wage = real("wage", wage, "a number above 0", lambda v: 0 < v < math.inf)
    assets = grid_uniform(low, high, grid)
    log_e, transition = tauchen(states, rho, sigma, width=width)
    e = levels("productivity", log_e, "rho, sigma or width")
    wealth = (1 + interest) * assets[:, None] + wage * e
    if (wealth[0] <= assets[0]).any():
        raise ProblemError(
            f"the poorest worker has {wealth[0].min():.6g} to spend and must keep low = {assets[0]:.6g}: "
            f"raise wage, or lower low"
        )
    return Problem(
        grid=assets,
        wealth=wealth,
        transition=transition,
        start=np.zeros_like(wealth),
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
