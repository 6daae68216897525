"""Generalised impulse responses to a shock to the exogenous state."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.host.analysis.policy import PERIODS_LIMIT, Policy, by_alternative, chain_of, followed, heading, policy_of
from beltline.host.analysis.refine import Refined, answer_of
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result


@dataclass(frozen=True, eq=False)
class ImpulseResponse:
    """Expected paths of all variables with and without a shock; ``print`` shows the response in percent.

    Parameters
    ----------
    names : tuple of str
        Names of the variables.
    baseline, shocked : dict of str to (periods,) float64 array
        Expected path of each variable without and with the shock. The shock is in period 0.
    state, to : int or None
        Exogenous state of period 0 without and with the shock. Without a ``state`` the baseline has all states;
        without a ``to`` the shock moves each of them up by one.
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
        """Return the path with the shock less that without it, in units of the variable."""
        return self.shocked[name] - self.baseline[name]

    def percent(self, name: str) -> Array:
        """Return :meth:`difference` in percent of the baseline."""
        return 100 * self.difference(name) / self.baseline[name]

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        periods = self.baseline[self.names[0]].size
        shown_at = [t for t in (0, 1, 4, 8, 20, 40, 80, 160, 320) if t < periods]
        lines = [f"  {'period':<{width}}" + "".join(f"{t:>10}" for t in shown_at)]
        for name in self.names:
            response = self.percent(name)
            lines.append(f"  {name:<{width}}" + "".join(f"{round(response[t], 3) + 0.0:>9.3f}%" for t in shown_at))
        return "\n".join([self.title, *lines])

    __repr__ = __str__
    _repr_html_ = as_html


def impulse_response(
    result: Result | Refined,
    state: int | None = None,
    to: int | None = None,
    periods: int = 200,
    choices: str | None = None,
    physical: Any = None,
) -> ImpulseResponse:
    """Compute the generalised impulse response to a shock to the exogenous state in period 0.

    For each variable ``y`` it is the difference of two conditional expectations, ``E[y(n) | shock] - E[y(n)]``. Both
    start with the same asset; in period 0 the exogenous state differs, and afterwards both follow the policy and the
    Markov chain. By default asset and state of period 0 have the stationary distribution, and the shock moves every
    state up by one (the highest state stays).

    Parameters
    ----------
    result : Result or Refined
        A solution with an infinite horizon and at least two exogenous states.
    state : int, optional
        Exogenous state of the baseline in period 0; the asset then has its stationary distribution given this state. By
        default all states, as often as in the stationary distribution.
    to : int, optional
        Exogenous state with the shock; by default the next one up.
    periods : int
        Number of periods, that of the shock included.
    choices : str, optional
        ``"continuous"``, the default, or ``"grid"``, as in :func:`beltline.stationary_distribution`. With choices from
        the grid alone, capital moves by whole grid steps and the response of investment is jagged.
    physical : (N_z, N_z) array, optional
        Markov matrix that the exogenous state follows, as there.

    Returns
    -------
    ImpulseResponse

    Raises
    ------
    ProblemError
        An argument is out of range, or there is no unique stationary distribution
        (:func:`beltline.stationary_distribution`).

    Notes
    -----
    Both expectations are computed by iterating on distributions; no path is simulated, so that there is no sampling
    error. Choices between two points are split between them so that the mean is the choice (Young 2010).

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
    answer = answer_of(result, choices)
    problem = followed(answer, "an impulse response")
    chain = chain_of(problem, physical)
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
        # followed() has given the warning already.
        warnings.simplefilter("ignore")
        begin = stationary_distribution(answer, physical=chain, choices=choices)
    if state is not None:
        only = np.zeros_like(begin)
        only[..., state] = begin[..., state]
        begin = only
        if not begin.sum() > 0:
            raise ProblemError(
                f"state {state} has probability 0 in the stationary distribution: the chain leaves it and never returns"
            )
    begin = begin / begin.sum()
    policy, tables = policy_of(answer, physical=chain), by_alternative(answer)
    begin = begin.reshape(-1, problem.points, problem.states)
    baseline, shocked = (_expected(policy, tables, mass, periods) for mass in (begin, _shifted(begin, to)))
    return ImpulseResponse(
        names=tuple(tables),
        baseline=baseline,
        shocked=shocked,
        state=state,
        to=to,
        title=heading(f"Response to {_named(problem, state, to)}", answer),
    )


def _named(problem: Problem, state: int | None, to: int | None) -> str:
    labels = problem.state_names
    if to is None:
        return f"one state up in {problem.shock}"
    start = "" if state is None else f"from {labels[state]} "
    return f"a change {start}to {labels[to]}"


def _shifted(mass: Array, to: int | None) -> Array:
    """Return ``mass`` after the shock: all of it in state ``to``, or that of each state moved up by one state."""
    shocked = np.zeros_like(mass)
    if to is not None:
        shocked[..., to] = mass.sum(axis=-1)
        return shocked
    shocked[..., 1:] = mass[..., :-1]
    shocked[..., -1] += mass[..., -1]
    return shocked


def _expected(policy: Policy, tables: dict[str, Array], mass: Array, periods: int) -> dict[str, Array]:
    stacked = np.stack([table.ravel() for table in tables.values()])
    paths = np.empty((len(tables), periods))
    for t in range(periods):
        paths[:, t] = stacked @ (mass[policy.regime] * policy.probability).ravel()
        mass = policy.forward(mass)
    return dict(zip(tables, paths, strict=True))
