"""What a shock to the exogenous state does, in expectation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.policy import PERIODS_LIMIT, followed, heading, lottery, refined, shared
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result
from beltline.host.results.variables import variables


@dataclass(frozen=True, eq=False)
class ImpulseResponse:
    """What a shock to the exogenous state does, in expectation.

    Parameters
    ----------
    names : tuple of str
    baseline, shocked : dict of str to (periods,) float64 array
        Expected path of each variable, period 0 being that of the impulse.
    state, to : int or None
        Exogenous state of period 0 in the baseline and with the impulse. None where it is not one state: all states
        in the baseline, and the next one up of each with the impulse.
    title : str
        Heading of the report.
    """

    names: tuple[str, ...]
    baseline: dict[str, Array]
    shocked: dict[str, Array]
    state: int | None
    to: int | None
    title: str

    def difference(self, name: str) -> Array:
        """With the impulse less without, in units of the variable."""
        return self.shocked[name] - self.baseline[name]

    def percent(self, name: str) -> Array:
        """The same as a percentage of the baseline."""
        return 100 * self.difference(name) / self.baseline[name]

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        periods = self.baseline[self.names[0]].size
        shown_at = [t for t in (0, 1, 4, 8, 20, 40, 80, 160, 320) if t < periods]
        lines = [f"  {'period':<{width}}" + "".join(f"{t:>10}" for t in shown_at)]
        for name in self.names:
            response = self.percent(name)
            lines.append(f"  {name:<{width}}" + "".join(f"{response[t]:>9.3f}%" for t in shown_at))
        return "\n".join([self.title, *lines])

    __repr__ = __str__
    _repr_html_ = as_html


def impulse_response(
    result: Result, state: int | None = None, to: int | None = None, periods: int = 200
) -> ImpulseResponse:
    """Return the generalised impulse response to a shock in period 0.

    For each variable ``y`` the difference of two conditional expectations, ``E[y(n) | shock] - E[y(n)]``. Both
    economies have the same asset in period 0, one has another exogenous state, and from then on both follow the policy
    and the chain. By default they are the average economy: asset and state of period 0 are distributed as in the long
    run, and the shock puts every state one up (the last one stays).

    Both expectations are computed by carrying distributions forward, exactly but for rounding: no path is drawn. The
    policy is that between grid points (:func:`beltline.host.analysis.policy.refined`), and who chooses between two
    points goes to each with a probability such that the mean is the choice (Young 2010). With choices from the grid
    alone investment would fall in stairs, because capital could move only by whole steps.

    Parameters
    ----------
    result
        With an infinite horizon and at least two exogenous states.
    state
        Exogenous state of the baseline in period 0, with the asset that goes with it in the long run. By default all
        states, as often as in the long run.
    to
        Exogenous state with the shock. By default the next one up.
    periods
        Length, from the period of the shock on.

    Raises
    ------
    ProblemError
        An argument out of range, or as :func:`stationary_distribution`.

    Sources
    -------
    Koop, Pesaran and Potter (1996), "Impulse response analysis in nonlinear multivariate models", Journal of
    Econometrics 74(1), 119-147. Young (2010), "Solving the incomplete markets model with aggregate uncertainty using
    the Krusell-Smith algorithm and non-stochastic simulations", Journal of Economic Dynamics and Control 34(1), 36-41.

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=256), tol=1e-6, device="cpu", progress=False)
    >>> response = bl.impulse_response(result, periods=40)
    >>> bool(response.percent("investment")[0] > response.percent("output")[0] > 0)
    True
    """
    problem = followed(result, "an impulse response")
    if problem.states < 2:
        raise ProblemError("an impulse response needs at least 2 exogenous states, and this problem has 1")
    wanted = f"a whole number from 0 to {problem.states - 1}"
    if state is not None:
        state = whole("state", state, wanted, lambda v: 0 <= v < problem.states)
        to = state + 1 if to is None else to
        wanted += f" that is not {state}"
    if to is not None:
        to = whole("to", to, wanted, lambda v: 0 <= v < problem.states and v != state)
    periods = whole("periods", periods, f"a whole number from 1 to {PERIODS_LIMIT}", lambda v: 1 <= v <= PERIODS_LIMIT)
    with warnings.catch_warnings():
        # It was warned of already.
        warnings.simplefilter("ignore")
        begin = stationary_distribution(result)
    if state is not None:
        only = np.zeros_like(begin)
        only[:, state] = begin[:, state]
        begin = only
        if not begin.sum() > 0:
            raise ProblemError(
                f"state {state} has no place in the stationary distribution: the chain leaves it for good"
            )
    begin = begin / begin.sum()
    choices = _Choices(problem, result.value, refined(problem, result.value, result.policy))
    tables = variables(choices)
    baseline, shocked = (_expected(choices, tables, mass, periods) for mass in (begin, _shifted(begin, to)))
    return ImpulseResponse(
        names=tuple(tables),
        baseline=baseline,
        shocked=shocked,
        state=state,
        to=to,
        title=heading(f"Response to {_named(problem, state, to)}", result),
    )


@dataclass(frozen=True, eq=False)
class _Choices:
    """A policy between grid points, of which tables are made."""

    problem: Problem
    value: Array
    policy_values: Array


def _named(problem: Problem, state: int | None, to: int | None) -> str:
    labels = problem.state_names
    if to is None:
        return f"one state up in {problem.shock}"
    return f"a step {'' if state is None else f'from {labels[state]} '}to {labels[to]}"


def _shifted(mass: Array, to: int | None) -> Array:
    """``mass`` with the shock: all of it in state ``to``, or each state's in the next."""
    shocked = np.zeros_like(mass)
    if to is not None:
        shocked[:, to] = mass.sum(axis=1)
        return shocked
    shocked[:, 1:] = mass[:, :-1]
    shocked[:, -1] += mass[:, -1]
    return shocked


def _expected(choices: _Choices, tables: dict[str, Array], mass: Array, periods: int) -> dict[str, Array]:
    problem, chosen = choices.problem, choices.policy_values
    below, share = lottery(problem.grid, chosen)
    stacked = np.stack([np.ascontiguousarray(table).ravel() for table in tables.values()])
    paths = np.empty((len(tables), periods))
    for t in range(periods):
        paths[:, t] = stacked @ mass.ravel()
        mass = shared(mass, below, share, problem.transition)
    return dict(zip(tables, paths, strict=True))
