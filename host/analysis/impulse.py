"""What one step of the exogenous state does, in expectation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.policy import PERIODS_LIMIT, carried, followed, heading
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, whole
from beltline.host.results.result import Result
from beltline.host.results.variables import variables


@dataclass(frozen=True, eq=False)
class ImpulseResponse:
    """What one step of the exogenous state does, in expectation.

    Parameters
    ----------
    names : tuple of str
    baseline, shocked : dict of str to (periods,) float64 array
        Expected path of each variable, period 0 being that of the impulse.
    state, to : int
        Exogenous state of period 0 in the baseline and with the impulse.
    title : str
        Heading of the report.
    """

    names: tuple[str, ...]
    baseline: dict[str, Array]
    shocked: dict[str, Array]
    state: int
    to: int
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


def impulse_response(
    result: Result, state: int | None = None, to: int | None = None, periods: int = 200
) -> ImpulseResponse:
    """Return the generalised impulse response to a step of the exogenous state from ``state`` to ``to``.

    For each variable ``y`` the difference of two conditional expectations,

        E[y(n) | s(0) = to, x(0) ~ mu( . | state)]  -  E[y(n) | s(0) = state, x(0) ~ mu( . | state)],

    where ``mu`` is the stationary distribution: both economies have the asset that goes with ``state``, one gets the
    other state in period 0, and from then on both follow the policy and the chain. Both expectations are computed by
    carrying the distributions forward, exactly but for rounding: no path is drawn.

    Parameters
    ----------
    result
        With an infinite horizon and at least two exogenous states.
    state
        By default the lower of the two middle states.
    to
        By default the next state up.
    periods
        Length, from the period of the impulse on.

    Raises
    ------
    ProblemError
        An argument out of range, or as :func:`stationary_distribution`.

    Sources
    -------
    Koop, Pesaran and Potter (1996), "Impulse response analysis in nonlinear multivariate models", Journal of
    Econometrics 74(1), 119-147. Theirs compares with an expectation over the impulse as well; here the baseline is
    the economy whose state does not move in period 0.
    """
    problem = followed(result, "an impulse response")
    if problem.states < 2:
        raise ProblemError("an impulse response needs at least 2 exogenous states, and this problem has 1")
    wanted = f"a whole number from 0 to {problem.states - 1}"
    if state is None:
        state = (problem.states - 1) // 2
    state = whole("state", state, wanted, lambda v: 0 <= v < problem.states)
    if to is None:
        to = state + 1
    to = whole("to", to, f"{wanted} that is not {state}", lambda v: 0 <= v < problem.states and v != state)
    periods = whole("periods", periods, f"a whole number from 1 to {PERIODS_LIMIT}", lambda v: 1 <= v <= PERIODS_LIMIT)
    with warnings.catch_warnings():
        # It was warned of already.
        warnings.simplefilter("ignore")
        assets = stationary_distribution(result)[:, state]
    if not assets.sum() > 0:
        raise ProblemError(f"state {state} has no place in the stationary distribution: the chain leaves it for good")
    tables = variables(result)
    labels = problem.labels or tuple(f"state {s}" for s in range(problem.states))
    return ImpulseResponse(
        names=tuple(tables),
        baseline=_expected(result, tables, assets / assets.sum(), state, periods),
        shocked=_expected(result, tables, assets / assets.sum(), to, periods),
        state=state,
        to=to,
        title=heading(f"Response to a step from {labels[state]} to {labels[to]}", result),
    )


def _expected(result: Result, tables: Mapping[str, Array], assets: Array, state: int, periods: int) -> dict[str, Array]:
    problem = result.problem
    mass = np.zeros((problem.points, problem.states))
    mass[:, state] = assets
    stacked = np.stack([np.ascontiguousarray(table).ravel() for table in tables.values()])
    paths = np.empty((len(tables), periods))
    for t in range(periods):
        paths[:, t] = stacked @ mass.ravel()
        mass = carried(mass, result.policy, problem.transition)
    return dict(zip(tables, paths, strict=True))
