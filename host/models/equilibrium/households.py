"""Households that choose between grid points: one date, a steady state, and what they have and do in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.analysis.between import Between, Choices
from beltline.host.analysis.policy import Policy, by_alternative, lottery, policy_of
from beltline.host.analysis.refine import settled
from beltline.host.analysis.stationary import stationary_mass
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, numbers_of, plain_text, shown, table
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.outcome import Outcome

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


Extra = Callable[[Any, Problem, Array], Mapping[str, Array]]
"""Variables of the user's: a function of prices, problem and choices that returns tables by name."""


class UnsolvedError(Exception):
    """The search ends without an equilibrium; ``status`` and the message give the reason."""

    def __init__(self, status: Outcome, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Period:
    """What the households of a problem choose at a date; :mod:`beltline.host.analysis.policy` follows it like a
    refinement.

    Values and distributions have the shape of :attr:`value`, ``(N_k, N_z)`` or ``(N_r, N_k, N_z)`` with regimes.
    """

    problem: Problem
    choices: Choices

    @classmethod
    def known(cls, problem: Problem, value: Array, choice: Array, probability: Array | None = None) -> Period:
        """Return the period of a known value and choices in the shapes of :attr:`value` and :attr:`choice`."""
        shape = (-1, problem.points, problem.states)
        value, choice = value.reshape(shape), choice.reshape(shape)
        taken = np.ones(choice.shape) if probability is None else probability
        return cls(problem, Choices(value, choice, *lottery(problem.grid, choice), value, taken))

    @property
    def policies(self) -> tuple[Choices, ...]:
        """The choices, as a refinement has them by age."""
        return (self.choices,)

    @cached_property
    def policy(self) -> Policy:
        """Where the choices lead."""
        return policy_of(self)

    @property
    def value(self) -> Array:
        """Value of the choices."""
        return self.choices.value[0] if len(self.choices.value) == 1 else self.choices.value

    @property
    def choice(self) -> Array:
        """``x'`` of the next date, which may lie between grid points, ``(N_k, N_z)`` or by alternative."""
        return self.choices.choice[0] if len(self.choices.choice) == 1 else self.choices.choice

    @property
    def probability(self) -> Array | None:
        """Probability of each alternative in its regime, ``(N_d, N_k, N_z)``; None if there is a single one."""
        return None if len(self.choices.choice) == 1 else self.choices.probability

    @property
    def marginal(self) -> Array:
        """Marginal value of ``x``, for the endogenous grid method."""
        problem = self.problem
        assert problem.marginal_wealth is not None, "checked when the problem was made"
        return problem.marginal_wealth * (problem.wealth - self.choice) ** -problem.eta

    def carry(self, mass: Array) -> Array:
        """Return the distribution of households at the next date."""
        return self.policy.forward(mass.reshape(self.choices.value.shape)).reshape(mass.shape)

    def expected(self, values: Array) -> Array:
        """Return the expectation of ``values`` one period later: the adjoint of :meth:`carry`."""
        ahead = self.policy.ahead(values.reshape(self.choices.value.shape))
        return self.policy.by_state(ahead).reshape(values.shape)

    def at_top(self, mass: Array) -> float:
        """Return the share of households that choose the highest grid point."""
        chosen = self.policy.by_state(1.0 * (self.choices.choice >= self.problem.grid[-1]))
        return float((mass * chosen.reshape(mass.shape)).sum())

    def amounts(self, prices: Any, extra: Extra | None) -> dict[str, Array]:
        """Return what households have and do in each state by name, on average over alternatives: the variables of
        :meth:`Result.variables`, the choice, whether each of several alternatives is taken, and the user's variables.
        """
        shape, problem = self.choices.choice.shape, self.problem
        tables = by_alternative(self)
        without = np.isnan(self.choices.choice)
        tables[f"next_{problem.asset_name}"] = np.where(without, 0.0, self.choices.choice)
        if len(problem.alternatives) > 1:
            each = np.eye(shape[0])[:, :, None, None]
            taken = {one.name: np.broadcast_to(each[d], shape) for d, one in enumerate(problem.alternatives)}
            tables = taken | tables
        if extra is not None:
            more = extra(copy(prices), problem, self.choice.copy())
            if not isinstance(more, Mapping):
                raise ProblemError(f"variables must return a dict of tables by name, not {shown(more)}")
            for name, given in more.items():
                what = f"what variables returns for {shown(name)}"
                plain_text(f"the name of {what}", name)
                one = table(what, 1.0 * numbers_of(what, given, kinds="biuf", shape=self.choice.shape))
                tables[name] = np.where(without, 0.0, one.reshape(shape))
        return {name: self.policy.by_state(one).reshape(self.value.shape) for name, one in tables.items()}


def choose_by_cubics(problem: Problem, ahead: Period) -> Period:
    """Return the best choices given the next date, whose value between grid points is a monotone cubic."""
    return Period(problem, Between(problem).improve(ahead.choices.value))


def choose_by_euler_equation(problem: Problem, ahead: Period) -> Period:
    """Return the choices that satisfy the Euler equation, linear in cash on hand between endogenous grid points."""
    grid = problem.grid
    wanted = (problem.beta * ahead.marginal @ problem.transition.T) ** (-1.0 / problem.eta) + grid[:, None]
    columns = range(problem.states)
    choice = np.stack([np.interp(problem.wealth[:, s], wanted[:, s], grid) for s in columns], axis=1)
    below, share = lottery(grid, choice)
    later = problem.beta * ahead.value @ problem.transition.T
    later = (1.0 - share) * later[below, columns] + share * later[below + 1, columns]
    return Period.known(problem, utility(problem.wealth - choice, problem.eta) + later, choice)


Choose = Callable[[Problem, Period], Period]

METHODS: dict[str, tuple[Choose, str]] = {
    "cubics": (choose_by_cubics, CUBICS),
    "egm": (choose_by_euler_equation, EULER),
}
"""How households choose at a date, given the next one, and its description, by name."""


def nearby(problem: Problem, rest: Period, choose: Choose) -> Callable[[Period], Period]:
    """Return how to choose given the next date, if choices are close to those of ``rest``, as after a small change."""
    if choose is not choose_by_cubics:
        return lambda ahead: choose(problem, ahead)
    operator = Between(problem).near(rest.choices)
    return lambda ahead: Period(problem, operator.improve(ahead.choices.value))


def _converged(problem: Problem, value: Array, choose: Choose, tol: float) -> tuple[Period, float, int]:
    """Return choices at constant prices, the last change, and the number of sweeps that maximise."""
    value = np.broadcast_to(value, (len(problem.regimes), problem.points, problem.states))
    if choose is choose_by_cubics:
        operator = Between(problem)
        choices, change, sweeps = settled(operator, value, tol, MAX_STEPS)
        return Period(problem, operator.improve(choices.value, choices.below)), change, sweeps
    period, sweeps = Period(problem, Between(problem).improve(value)), 0
    for _ in range(MAX_EULER_STEPS):
        ahead = choose(problem, period)
        change = max(float(np.abs(ahead.choice - period.choice).max()), float(np.ptp(ahead.value - period.value)))
        period, sweeps = ahead, sweeps + 1
        if change < tol:
            break
    return period, change, sweeps


def stationary(
    problem: Problem, value: Array, choose: Choose, tol: float, where: str, timing: dict[str, float]
) -> tuple[Period, Array, int, float]:
    """Solve a household's problem at constant prices from a value.

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
        try:
            mass = stationary_mass(period.policy).reshape(period.value.shape)
        except ProblemError as none:
            raise UnsolvedError(
                Outcome.DISTRIBUTION, f"At {where} no stationary distribution of households was found: {none}."
            ) from None
    return period, mass, sweeps, change
