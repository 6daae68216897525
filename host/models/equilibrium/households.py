"""Households that choose between grid points: one date, a steady state, and what they have and do in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.analysis.between import maximise, monotone_cubics
from beltline.host.analysis.long_run import MASS_MOVES, long_run
from beltline.host.analysis.policy import carried, lottery
from beltline.host.analysis.refine import settle
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.outcome import Outcome
from beltline.host.results.variables import variables

CUBICS = "maximum between grid points of monotone cubics"
"""Method by which households' problems are solved; there is no bound on its error."""

EULER = "endogenous grid method with linear interpolation"
"""The other method, for problems whose value is concave in ``x``."""

MAX_STEPS = 200
"""Largest number of sweeps that maximise, for each household's problem."""

MAX_EULER_STEPS = 20_000
"""Largest number of steps of the endogenous grid method."""

ROUNDING = 1e-13
"""Smallest tolerance of values, as a share of the largest one."""


SMALLEST_SHARE = 1e-10
"""Smallest share of a mass that goes to the farther one of the two points around a choice."""


class UnsolvedError(Exception):
    """The search ends without an equilibrium; ``status`` and the message give the reason."""

    def __init__(self, status: Outcome, message: str) -> None:
        super().__init__(message)
        self.status = status


class Period(NamedTuple):
    """Value and choices of households at one date; each array is ``(N_k, N_z)``.

    The assets of the next date, ``choice``, may lie between grid points: ``below``, at most ``N_k - 2``, is the index
    of the one at or below, and ``share`` the share of the mass that goes to the one above (Young 2010). ``marginal`` is
    the marginal value of ``x``, which the endogenous grid method needs.
    """

    value: Array
    choice: Array
    below: NDArray[np.int32]
    share: Array
    marginal: Array | None = None

    @classmethod
    def of(cls, problem: Problem, value: Array, choice: Array) -> Period:
        """Return the period of known choices."""
        marginal = None
        if problem.marginal_wealth is not None:
            marginal = problem.marginal_wealth * (problem.wealth - choice) ** -problem.eta
        below, share = lottery(problem.grid, choice)
        # A move with the probability of a rounding error would make the equations of the long run singular.
        share = np.where(share > 1.0 - SMALLEST_SHARE, 1.0, np.where(share < SMALLEST_SHARE, 0.0, share))
        return cls(value, choice, below, share, marginal)

    def carry(self, mass: Array, chain: Array) -> Array:
        """Return the distribution of households at the next date."""
        return carried(mass, self.below, chain, self.share)

    def expected(self, values: Array, chain: Array) -> Array:
        """Return the expectation of ``values``, ``(N_k, N_z)``, one period later: the adjoint of :meth:`carry`."""
        ahead, columns = values @ chain.T, np.arange(chain.shape[0])
        return (1.0 - self.share) * ahead[self.below, columns] + self.share * ahead[self.below + 1, columns]


def choose_by_cubics(problem: Problem, ahead: Period) -> Period:
    """Return the best choices given the next date, whose value between grid points is a monotone cubic."""
    found = maximise(problem, ahead.value, monotone_cubics)
    return Period.of(problem, found.value, found.choice)


def choose_by_euler_equation(problem: Problem, ahead: Period) -> Period:
    """Return the choices that satisfy the Euler equation, linear in cash on hand between endogenous grid points."""
    grid, marginal = problem.grid, ahead.marginal
    assert marginal is not None, "checked when the problem was made"
    wanted = (problem.beta * marginal @ problem.transition.T) ** (-1.0 / problem.eta) + grid[:, None]
    columns = range(problem.states)
    choice = np.stack([np.interp(problem.wealth[:, s], wanted[:, s], grid) for s in columns], axis=1)
    below, share = lottery(grid, choice)
    later = problem.beta * ahead.value @ problem.transition.T
    later = (1.0 - share) * later[below, columns] + share * later[below + 1, columns]
    return Period.of(problem, utility(problem.wealth - choice, problem.eta) + later, choice)


Choose = Callable[[Problem, Period], Period]

METHODS: dict[str, tuple[Choose, str]] = {
    "cubics": (choose_by_cubics, CUBICS),
    "egm": (choose_by_euler_equation, EULER),
}
"""How households choose at a date, given the next one, and its description, by name."""


def _converged(problem: Problem, value: Array, choose: Choose, tol: float) -> tuple[Period, float, int]:
    """Return choices at constant prices, the last change, and the number of sweeps that maximise."""
    if choose is choose_by_cubics:
        choices, value, change, sweeps = settle(problem, value, monotone_cubics, tol, MAX_STEPS)
        return choose(problem, Period.of(problem, value, choices.choice)), change, sweeps
    found = maximise(problem, value, monotone_cubics)
    period, sweeps = Period.of(problem, found.value, found.choice), 0
    for _ in range(MAX_EULER_STEPS):
        ahead = choose(problem, period)
        change = max(float(np.abs(ahead.choice - period.choice).max()), float(np.ptp(ahead.value - period.value)))
        period, sweeps = ahead, sweeps + 1
        if change < tol:
            break
    return period, change, sweeps


def stationary(
    problem: Problem, value: Array, mass: Array, choose: Choose, tol: float, where: str, timing: dict[str, float]
) -> tuple[Period, Array, int, float]:
    """Solve a household's problem at constant prices from a value and a distribution.

    Returns its choices, stationary distribution, number of sweeps that maximise and last change, and adds to
    ``timing``. ``where`` names the prices in messages.
    """
    with timed(timing, "values"):
        tol = max(tol, ROUNDING * float(np.abs(value).max()))
        period, change, sweeps = _converged(problem, value, choose, tol)
        if not change < tol:
            raise UnsolvedError(
                Outcome.HOUSEHOLD,
                f"At {where} the values of choices between grid points do not converge: they still change by "
                f"{change:.3g} after {sweeps} steps, and tol is {tol:g}: raise tol or grid.",
            )
    with timed(timing, "distributions"):
        mass, moves, unique = long_run(period.below, problem.transition, mass, period.share)
    if not unique or moves > MASS_MOVES:
        why = f"it still changes by {moves:.3g} in a period" if unique else "the long run depends on the initial state"
        raise UnsolvedError(
            Outcome.DISTRIBUTION, f"At {where} no stationary distribution of households was found: {why}; raise grid."
        )
    return period, mass, sweeps, change


Extra = Callable[[Any, Problem, Array], Mapping[str, Array]]
"""Variables of the user's: a function of prices, problem and choices that returns tables by name."""


def amounts(problem: Problem, choice: Array, prices: Any, extra: Extra | None) -> dict[str, Array]:
    """Return what households have and do in each state by name, ``(N_k, N_z)``: those of :meth:`Result.variables`,
    ``next_`` assets, and the user's.
    """
    tables = variables(problem, problem.wealth - choice)
    tables[f"next_{problem.asset_name}"] = choice
    if extra is not None:
        more = extra(prices, problem, choice)
        if not isinstance(more, Mapping):
            raise ProblemError(f"variables must return a dict of tables by name, not {shown(more)}")
        for name, each in more.items():
            if not isinstance(each, np.ndarray) or each.shape != choice.shape:
                raise ProblemError(
                    f"variables must return arrays of shape {choice.shape}, and {name!r} is {shown(each)}"
                )
        tables |= more
    return tables
