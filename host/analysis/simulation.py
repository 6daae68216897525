"""The long run of a policy: simulated paths, the stationary distribution, moments and impulse responses.

All of it is about the policy on the grid, ``x' = X[policy(x, s)]``, with the exogenous state on its chain: nothing is
interpolated, so that what is measured is what was solved. Tables of a period are

    x,   Y(x, s) (output, where the problem has it),   c = W(x, s) - x',   Y - c (investment)   and   s as a number.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, shown, whole
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result

Array = NDArray[np.float64]

MEETING = 1e-12
"""Total variation distance at which distributions started from the two ends of the grid count as one."""

PATIENCE = 200
"""Steps, one after the other, without any fall of that distance, after which there is no hope of one."""

STAY_LIMIT = 1 - 2.0**-12
"""Largest probability of staying that is summed over stays of any length: a state that is never left has no end."""

PERIODS_LIMIT = 10**8
"""Largest number of simulated periods, so that a mistyped number is refused and not allocated."""


@njit(cache=True)
def _carry(mass: Array, policy: NDArray[np.int32], chain: Array) -> Array:
    """One period on: each state's mass to where its policy takes it, then along the rows of ``chain``."""
    points, states = mass.shape
    moved = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            moved[policy[x, s], s] += mass[x, s]
    ahead = np.zeros((points, states))
    for x in range(points):
        for s in range(states):
            for t in range(states):
                ahead[x, t] += moved[x, s] * chain[s, t]
    return ahead


@njit(cache=True)
def _stay(mass: Array, policy: NDArray[np.int32], stay: float) -> Array:
    """``sum_n (stay P)^n mass`` for each row of ``mass``, ``P`` carrying it to where the policy takes it.

    By ``(1 + stay P) (1 + stay^2 P^2) (1 + stay^4 P^4) ...``: a stay of thousands of periods is a dozen steps.
    """
    points = policy.size
    target, weight = policy.copy(), stay
    while weight > 2.0**-60:
        carried = mass.copy()
        for row in range(mass.shape[0]):
            for x in range(points):
                carried[row, target[x]] += weight * mass[row, x]
        mass = carried
        target, weight = target[target], weight * weight
    return mass


@njit(cache=True)
def _walk(
    policy: NDArray[np.int32], cumulative: Array, draws: Array, x: int, s: int,
    points: NDArray[np.int32], states: NDArray[np.int32],
) -> None:  # fmt: skip
    last = cumulative.shape[0] - 1
    for t in range(draws.size):
        points[t] = x
        states[t] = s
        x = policy[x, s]
        s = min(np.searchsorted(cumulative[s], draws[t], side="right"), last)


def followed(result: Result, what: str) -> Problem:
    """Return the problem of ``result`` if its policy can be followed for ever; warn if it is not solved.

    Raises
    ------
    ProblemError
        ``result`` is none, has ages, or a state without a choice.
    """
    if not isinstance(result, Result):
        raise ProblemError(f"result must be a Result, not {shown(result)}")
    problem = result.problem
    if problem.horizon is not None:
        ages = f"{problem.horizon} age{'' if problem.horizon == 1 else 's'}"
        raise ProblemError(f"{what} needs an infinite horizon, and this problem has {ages}")
    usable(result, what, stacklevel=4)
    return problem


def usable(result: Result, what: str, stacklevel: int = 3) -> None:
    """Warn if ``result`` is not solved.

    Raises
    ------
    ProblemError
        A state has no choice at all.
    """
    if (result.policy < 0).any() or not (result.problem.wealth > result.policy_values).all():
        raise ProblemError(f"{what} needs a choice in every state, and this result is {result.status}")
    if not result.success:
        warnings.warn(f"{what} of a result that is not solved: {result.status}", stacklevel=stacklevel)


def variables(result: Result) -> dict[str, Array]:
    """The tables of a period by name, ``(N_k, N_z)`` each: what the module says, those that the problem knows.

    With a horizon ``(T, N_k, N_z)``, the first age first.
    """
    problem = result.problem
    shape = result.value.shape
    consumption = problem.wealth - result.policy_values
    tables = {"consumption": consumption}
    if problem.output is not None:
        output = np.broadcast_to(problem.output, shape)
        tables = {"output": output, "consumption": consumption, "investment": problem.output - consumption}
    tables[problem.asset_name] = np.broadcast_to(problem.grid[:, None], shape)
    if problem.shock_values is not None:
        tables[problem.shock_name] = np.broadcast_to(problem.shock_values, shape)
    return tables


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated path.

    Parameters
    ----------
    points, states : (periods,) int32 arrays
        Grid point of ``x`` and exogenous state in each period.
    series : dict of str to (periods,) float64 array
        ``output``, ``consumption``, ``investment``, the asset at the start of the period and the shock, by name; those
        that the problem knows.
    burn_in : int
        Periods before, which are dropped.
    seed : int
    """

    points: NDArray[np.int32]
    states: NDArray[np.int32]
    series: dict[str, Array]
    burn_in: int
    seed: int


def simulate(
    result: Result,
    periods: int = 10_000,
    burn_in: int = 1_000,
    seed: int = 0,
    start: tuple[int, int] | None = None,
) -> Simulation:
    """Follow the policy along one random path of the exogenous chain.

    Parameters
    ----------
    result
        With an infinite horizon.
    periods
        Periods to keep, at least 1.
    burn_in
        Periods before them, which are dropped.
    seed
        Of NumPy's default generator: the same seed gives the same path of the exogenous state.
    start
        Grid point and exogenous state of the first period; the middle of both by default.

    Raises
    ------
    ProblemError
        An argument out of range, or a result whose policy cannot be followed for ever.
    """
    problem = followed(result, "a simulation")
    periods, burn_in, seed = _draws(periods, burn_in, seed)
    if start is None:
        start = (problem.points // 2, problem.states // 2)
    if not isinstance(start, tuple | list) or len(start) != 2:
        raise ProblemError(f"start must be a grid point and an exogenous state, not {shown(start)}")
    x, s = (
        whole(f"start[{i}]", start[i], f"a whole number from 0 to {size - 1}", lambda v, size=size: 0 <= v < size)  # type: ignore[misc]
        for i, size in enumerate((problem.points, problem.states))
    )
    total = burn_in + periods
    points, states = np.empty(total, np.int32), np.empty(total, np.int32)
    draws = np.random.default_rng(seed).random(total)
    _walk(result.policy, np.cumsum(problem.transition, axis=1), draws, x, s, points, states)
    points, states = points[burn_in:].copy(), states[burn_in:].copy()
    series = {name: table[points, states] for name, table in variables(result).items()}
    return Simulation(points, states, series, burn_in, seed)


def _draws(periods: int, burn_in: int, seed: int) -> tuple[int, int, int]:
    wanted = f"a whole number from {{}} to {PERIODS_LIMIT}"
    return (
        whole("periods", periods, wanted.format(1), lambda v: 1 <= v <= PERIODS_LIMIT),
        whole("burn_in", burn_in, wanted.format(0), lambda v: 0 <= v <= PERIODS_LIMIT),
        whole("seed", seed, "a whole number that is not negative", lambda v: v >= 0),
    )


def chain_distribution(transition: Array) -> Array:
    """Return the stationary distribution ``pi = pi Q`` of the exogenous chain, ``(N_z,)``.

    Raises
    ------
    ProblemError
        There is more than one.
    """
    states = transition.shape[0]
    equations = np.vstack([transition.T - np.eye(states), np.ones(states)])
    if np.linalg.matrix_rank(equations) < states:
        raise ProblemError("transition has more than one stationary distribution: its states fall into separate groups")
    right = np.zeros(states + 1)
    right[-1] = 1.0
    weights = np.linalg.lstsq(equations, right, rcond=None)[0].clip(min=0.0)
    return np.asarray(weights / weights.sum())


def stationary_distribution(result: Result) -> Array:
    """Return the share of time that the economy spends in each state in the long run, ``(N_k, N_z)``, adding up to 1.

    The stationary ``mu`` solves ``mu_s = sum_t Q(t, s) P_t mu_t``, where ``P_t`` carries mass from ``x`` to
    ``policy(x, t)``. It is found by iterating

        mu_s  <-  (1 - Q(s, s) P_s)^-1 sum_(t != s) Q(t, s) P_t mu_t,

    one visit of a state a step, however long it lasts, from two starts: all mass at the lowest and all mass at the
    highest ``x``, both with the chain's stationary distribution of ``s``. The policy is non-decreasing in ``x``, so the
    steps keep the order of the two, and any stationary distribution stays between them; where they meet, within
    ``MEETING`` in total variation, it is the only one (Hopenhayn and Prescott 1992). Their average is returned. Mass is
    carried from grid point to grid point, so there is no error but that and rounding, and no sampling.

    Raises
    ------
    ProblemError
        They do not meet: on so coarse a grid the policy has resting points that it never leaves, and the long run
        depends on the start. Or the result's policy cannot be followed for ever.

    Sources
    -------
    Hopenhayn and Prescott (1992), "Stochastic monotonicity and stationary distributions for dynamic economies",
    Econometrica 60(6), 1387-1406.
    """
    problem = followed(result, "a stationary distribution")
    weights = chain_distribution(problem.transition)
    stays = np.minimum(np.diag(problem.transition), STAY_LIMIT)
    moves = problem.transition - np.diag(stays)
    low, high = np.zeros((2, problem.points, problem.states))
    low[0], high[-1] = weights, weights
    policies = np.ascontiguousarray(result.policy.T)
    best, waited = np.inf, 0
    while waited < PATIENCE:
        entering = np.stack([_carry(mass, result.policy, moves) for mass in (low, high)])
        for s in range(problem.states):
            both = _stay(np.ascontiguousarray(entering[:, :, s]), policies[s], float(stays[s]))
            # What enters sums to this but for rounding, which would grow from step to step.
            both *= weights[s] / np.maximum(both.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            low[:, s], high[:, s] = both
        distance = 0.5 * float(np.abs(high - low).sum())
        if distance <= MEETING:
            mean = low + high
            return np.asarray(mean / mean.sum())
        best, waited = (distance, 0) if distance < 0.999 * best else (best, waited + 1)
    means = [float(problem.grid @ mass.sum(axis=1)) for mass in (low, high)]
    raise ProblemError(
        f"on this grid of {problem.points:,} points the long run depends on the start: the mean of {problem.asset} "
        f"is {means[0]:.6g} from the lowest point and {means[1]:.6g} from the highest, so use a finer grid"
    )


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the variables of a period, in levels (no logarithm, no filter).

    Parameters
    ----------
    names : tuple of str
    mean, std : dict of str to float
        In the variable's units; a deviation that rounding or :data:`MEETING` may have made is 0.
    autocorrelation : dict of str to float
        With its own value one period later; nan for what does not move.
    correlation : dict of str to float
        With ``output``, or with consumption where the problem has no output; nan for what does not move.
    reference : str
        Which of the two.
    how : str
        Where they come from.
    title : str
        Heading of the report.
    """

    names: tuple[str, ...]
    mean: dict[str, float]
    std: dict[str, float]
    autocorrelation: dict[str, float]
    correlation: dict[str, float]
    reference: str
    how: str
    title: str

    def __str__(self) -> str:
        heads = ("", "mean", "standard dev.", "autocorrelation", f"with {self.reference}")
        rows = [
            (
                name,
                f"{self.mean[name]:.6g}",
                f"{self.std[name]:.4g}",
                _share(self.autocorrelation[name]),
                _share(self.correlation[name]),
            )
            for name in self.names
        ]
        width = max(len(name) for name in self.names)
        lines = [f"  {row[0]:<{width}}" + "".join(f"{cell:>17}" for cell in row[1:]) for row in (heads, *rows)]
        return "\n".join([self.title, *lines, f"  {self.how}"])

    __repr__ = __str__


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _ratio(covariance: float, a: float, b: float) -> float:
    return covariance / (a * b) if a > 0 and b > 0 else float("nan")


def moments(
    result: Result,
    how: Literal["exact", "simulation"] = "exact",
    periods: int = 10_000,
    burn_in: int = 1_000,
    seed: int = 0,
) -> Moments:
    """Return means, standard deviations, autocorrelations and correlations with output, in levels.

    Parameters
    ----------
    result
        With an infinite horizon.
    how
        ``"exact"``: expectations under :func:`stationary_distribution`, without sampling. ``"simulation"``: of one
        path of :func:`simulate`, whose length and seed the arguments below are.
    periods, burn_in, seed
        At least 2 periods. Not looked at by ``"exact"``.

    Raises
    ------
    ProblemError
        As :func:`stationary_distribution` or :func:`simulate`.
    """
    if how not in ("exact", "simulation"):
        raise ProblemError(f"how must be 'exact' or 'simulation', not {shown(how)}")
    problem = followed(result, "a table of moments")
    with warnings.catch_warnings():
        # It was warned of already.
        warnings.simplefilter("ignore")
        if how == "exact":
            mass = stationary_distribution(result)
            tables: Mapping[str, Array] = variables(result)
            points = result.policy.astype(np.intp)

            def mean(values: Array) -> float:
                return float((mass * values).sum())

            def ahead(values: Array) -> Array:
                return np.take_along_axis(values @ problem.transition.T, points, axis=0)

            # What does not move may have this deviation from mass that has not arrived yet.
            noise = {name: math.sqrt(10 * MEETING) * float(np.ptp(values)) for name, values in tables.items()}
            text = "Exact: expectations under the stationary distribution of the policy on the grid."
        else:
            periods = whole(
                "periods", periods, f"a whole number from 2 to {PERIODS_LIMIT}", lambda v: 2 <= v <= PERIODS_LIMIT
            )
            path = simulate(result, periods, burn_in, seed)
            tables = path.series
            noise = {name: 1e-12 * float(np.abs(values).max()) for name, values in tables.items()}
            text = f"Simulated: {periods:,} periods after {burn_in:,} that were dropped, seed {seed}."

            def mean(values: Array) -> float:
                return float(values.mean())

            def ahead(values: Array) -> Array:
                # Zero adds nothing where there is no next period; the sum is divided by all periods, as is usual.
                return np.append(values[1:], 0.0)

    return _moments(result, tables, noise, mean, ahead, text)


def _moments(
    result: Result,
    tables: Mapping[str, Array],
    noise: Mapping[str, float],
    mean: Callable[[Array], float],
    ahead: Callable[[Array], Array],
    how: str,
) -> Moments:
    reference = "output" if "output" in tables else "consumption"
    means = {name: mean(values) for name, values in tables.items()}
    gaps = {name: values - means[name] for name, values in tables.items()}
    std = {name: float(np.sqrt(mean(gap**2))) for name, gap in gaps.items()}
    std = {name: 0.0 if value <= noise[name] else value for name, value in std.items()}
    return Moments(
        names=tuple(tables),
        mean=means,
        std=std,
        autocorrelation={n: _ratio(mean(gap * ahead(gap)), std[n], std[n]) for n, gap in gaps.items()},
        correlation={n: _ratio(mean(gap * gaps[reference]), std[n], std[reference]) for n, gap in gaps.items()},
        reference=reference,
        how=how,
        title=heading("Moments", result),
    )


def heading(what: str, result: Result) -> str:
    """Return the first line of a report on ``result``, which says so if that is not solved."""
    problem = result.problem
    title = f"{what} of {problem.name}, {problem.points:,} grid points x {problem.states} states"
    return title if result.success else f"{title} ({result.status})"


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
        mass = _carry(mass, result.policy, problem.transition)
    return dict(zip(tables, paths, strict=True))
