"""Means, standard deviations and correlations of a solution: exact, or of a simulated path."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.analysis.policy import by_alternative, chain_of, choice_of, followed, heading, policy_of
from beltline.host.analysis.refine import Refined, answer_of
from beltline.host.analysis.simulation import check_draws, simulate
from beltline.host.analysis.stationary import MEETING, age_distribution, stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, numbers_of, place, plain_text, shown, word
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.report import as_html
from beltline.host.results.result import Result


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the variables of a period, in levels (no logarithm, no filter); ``print`` shows them as a table.

    Parameters
    ----------
    names : tuple of str
        Names of the variables.
    mean, std : dict of str to float
        Mean and standard deviation, in units of the variable. A standard deviation no larger than the error of the
        computation is 0.
    autocorrelation : dict of str to float
        Correlation with the same variable one period later; nan for a constant.
    correlation : dict of str to float
        Correlation with ``reference``; nan for a constant.
    reference : str
        ``"output"``, or ``"consumption"`` if the problem has no output.
    how : str
        How the moments were computed, in a sentence.
    title : str
        Heading of the report.
    error : dict of str to float
        Standard error of each mean of a simulation, from the means of 20 parts of its path; empty if moments are
        exact, or the path is too short.
    """

    names: tuple[str, ...]
    mean: dict[str, float]
    std: dict[str, float]
    autocorrelation: dict[str, float]
    correlation: dict[str, float]
    reference: str
    how: str
    title: str
    error: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        heads: tuple[str, ...] = ("", "mean", "standard dev.", "autocorrelation", f"with {self.reference}")
        if self.error:
            heads = (*heads[:2], "standard error", *heads[2:])
        rows = [
            (
                name,
                f"{self.mean[name]:.6g}",
                *([f"{self.error[name]:.2g}"] if self.error else []),
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
    _repr_html_ = as_html


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _ratio(covariance: float, a: float, b: float) -> float:
    return covariance / (a * b) if a > 0 and b > 0 else float("nan")


def moments(
    result: Result | Refined,
    how: Literal["exact", "simulation"] = "exact",
    periods: int = 10_000,
    burn_in: int = 1_000,
    seed: int = 0,
    of: Mapping[str, Callable[[dict[str, Array]], ArrayLike] | ArrayLike] | None = None,
    choices: str | None = None,
    physical: Any = None,
    start: int = 0,
) -> Moments:
    """Compute means, standard deviations, autocorrelations and correlations with output, in levels.

    Parameters
    ----------
    result : Result or Refined
        A solution. With a horizon moments are those of a population in which all ages are equally frequent
        (:func:`beltline.age_distribution`).
    how : str
        ``"exact"`` (default): expectations under the stationary distribution, without sampling error.
        ``"simulation"``: moments of one path of :func:`beltline.simulate`.
    periods, burn_in, seed : int
        Length of that path (at least 2), periods dropped before it, and seed; ignored with ``"exact"``.
    of : mapping of str to function or array, optional
        Other variables by name: a function of the mapping of all variables by name, among them ``next_`` with the
        asset's name for the choice and ``alternative`` for the number of the alternative, each an array; or an array of
        the shape of ``result.value``. A discrete problem has no other variables.
    choices : str, optional
        ``"continuous"``, the default, or ``"grid"``, as in :func:`beltline.stationary_distribution`.
    physical : (N_z, N_z) array, optional
        Markov matrix that the exogenous state follows, as there.
    start : int
        With a horizon, the index of the grid point at which everybody's first age begins.

    Returns
    -------
    Moments

    Raises
    ------
    ProblemError
        An argument is out of range, or the long run depends on the initial state
        (:func:`beltline.stationary_distribution`).

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=256), progress=False)
    >>> table = bl.moments(result)
    >>> bool(table.std["investment"] / table.mean["investment"] > table.std["output"] / table.mean["output"])
    True
    >>> import numpy as np
    >>> bl.moments(result, of={"log output": lambda v: np.log(v["output"])}).std["log output"] > 0
    True
    """
    word("how", how, ("exact", "simulation"))
    answer = answer_of(result, choices)
    if isinstance(answer, Result) and isinstance(answer.problem, DiscreteProblem):
        if how == "simulation" or physical is not None:
            what = "physical" if how == "exact" else "how='simulation'"
            raise ProblemError(f"{what} needs a problem with exogenous states, and this one is discrete")
        return _of_discrete(answer, of)
    aged = getattr(getattr(answer, "problem", None), "horizon", None) is not None
    problem: Any = answer.problem if aged else followed(answer, "a table of moments")
    tables, chain = _tables(answer, of), chain_of(problem, physical)
    error: dict[str, float] = {}
    with warnings.catch_warnings():
        # followed() has given the warning already.
        warnings.simplefilter("ignore")
        if how == "exact":
            if aged:
                mass = age_distribution(answer, start, choices, chain)
                policies = [policy_of(answer, age, chain) for age in range(len(mass))]
                mass = mass.reshape(len(mass), -1, problem.points, problem.states) / mass.sum()
                text = "Exact: expectations over the distributions of all ages."
            else:
                mass, policies = stationary_distribution(answer, choices, chain), [policy_of(answer, physical=chain)]
                mass = mass.reshape(1, -1, problem.points, problem.states)
                text = f"Exact: expectations under the stationary distribution, choices {_WHERE[type(answer)]}."
            shares = np.stack([mass[n][one.regime] * one.probability for n, one in enumerate(policies)])
            shares = shares.reshape(next(iter(tables.values())).shape)
            policy = policies[0]

            def mean(values: Array) -> float:
                return float((shares * values).sum())

            def ahead(values: Array) -> Array:
                if aged:
                    # The next period of the last age is missing, so that there is no autocorrelation.
                    return np.full(values.shape, np.nan)
                return policy.ahead(policy.by_state(values))

            # Mass within MEETING of the stationary distribution can give a constant this standard deviation.
            noise = {name: math.sqrt(10 * MEETING) * float(np.ptp(values)) for name, values in tables.items()}
        else:
            if aged:
                raise ProblemError("how='simulation' needs an infinite horizon: life_paths simulates lives")
            periods, burn_in, seed = check_draws(periods, burn_in, seed, least=2)
            path = simulate(answer, periods, burn_in, seed, choices=choices, physical=chain)
            tables = {n: table[path.alternatives, path.points, path.states] for n, table in tables.items()}
            noise = {name: 1e-12 * float(np.abs(values).max()) for name, values in tables.items()}
            long = periods >= 2 * BATCHES
            error = {name: _mean_error(values) for name, values in tables.items()} if long else {}
            text = f"Simulated: {periods:,} periods after {burn_in:,} that were dropped, seed {seed}."

            def mean(values: Array) -> float:
                return float(values.mean())

            def ahead(values: Array) -> Array:
                # The last period has no next one: it adds 0, and the sum is divided by all periods, as is usual.
                return np.append(values[1:], 0.0)

    reference = "output" if "output" in tables else "consumption"
    found = statistics(tables, noise, mean, ahead, reference)
    return Moments(tuple(tables), *found, reference, text, heading("Moments", answer), error)


_WHERE = {Result: "on the grid", Refined: "between grid points"}

BATCHES = 20
"""Number of parts of a path whose means give the standard error of its mean."""


def _mean_error(values: Array) -> float:
    """Return the standard error of the mean of a series from the means of :data:`BATCHES` parts of it."""
    size = values.size // BATCHES
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(BATCHES))


def _tables(answer: Result | Refined, of: Any) -> dict[str, Array]:
    """Return the variables of each alternative by name, those of ``of`` after the others, or in their place."""
    tables = by_alternative(answer)
    shape = next(iter(tables.values())).shape
    number = np.broadcast_to(np.arange(shape[-3])[:, None, None], shape).astype(np.float64)
    known = tables | {f"next_{answer.problem.asset_name}": np.nan_to_num(choice_of(answer)), "alternative": number}
    for each in known.values():
        # A function of the user that changes one would change the moments of it.
        each.flags.writeable = False
    return tables | _given(of, known, shape, answer.value.shape)


class _Known(dict[str, Array]):
    """Variables by name; one that does not exist is named in a sentence."""

    def __missing__(self, name: object) -> Array:
        raise ProblemError(f"there is no variable {shown(name)}: there are {', '.join(map(repr, self))}")


def _given(of: Any, known: dict[str, Array], shape: tuple[int, ...], plain: tuple[int, ...]) -> dict[str, Array]:
    """Return the variables of ``of``, of ``shape``: functions of what is ``known``, or arrays of shape ``plain``.

    Raises
    ------
    ProblemError
        One is no array of finite numbers of such a shape.
    """
    if of is None:
        return {}
    if not isinstance(of, Mapping):
        raise ProblemError(f"of must be a mapping of names to functions or arrays, not {shown(of)}")
    found = {}
    for name, one in of.items():
        what = f"of[{shown(name)}]"
        plain_text(f"the name of {what}", name)
        given = one(_Known(known)) if callable(one) else one
        values = numbers_of(what, given, kinds="biuf").astype(np.float64)
        if values.shape == plain and len(plain) < len(shape):
            values = np.broadcast_to(values[..., None, :, :], shape)
        if values.shape != shape:
            raise ProblemError(f"{what} must have shape {plain}, or that of what its function gets, not {values.shape}")
        if not np.isfinite(values).all():
            where = first(~np.isfinite(values))
            raise ProblemError(f"{what} must be finite, but {place('its value', where)} is {values[where]}")
        found[name] = values
    return found


def _of_discrete(result: Result, of: Any) -> Moments:
    """Return exact moments of the variables ``of`` of a discrete problem."""
    tables = _given(of, {"policy": result.policy.astype(np.float64)}, result.value.shape, result.value.shape)
    if not tables:
        raise ProblemError(
            "moments of a discrete problem need of=: its states and actions have no amounts, so pass arrays of the "
            f"shape of value, {result.value.shape}, by name"
        )
    mass, step = stationary_distribution(result), result.transitions()
    noise = {name: math.sqrt(10 * MEETING) * float(np.ptp(values)) for name, values in tables.items()}
    found = statistics(
        tables, noise, lambda values: float((mass * values).sum()),
        lambda values: np.asarray(step @ values.ravel()).reshape(values.shape), next(iter(tables)),
    )  # fmt: skip
    text = "Exact: expectations under the stationary distribution."
    return Moments(tuple(tables), *found, next(iter(tables)), text, heading("Moments", result))


def statistics(
    tables: Mapping[str, Array],
    noise: Mapping[str, float],
    mean: Callable[[Array], float],
    ahead: Callable[[Array], Array],
    reference: str,
) -> tuple[dict[str, float], dict[str, float], dict[str, float], dict[str, float]]:
    """Return mean, standard deviation, autocorrelation and correlation with ``reference`` of each table by name, given
    its error, the expectation of a table, and the expectation of the next period in each state.
    """
    means = {name: mean(values) for name, values in tables.items()}
    gaps = {name: values - means[name] for name, values in tables.items()}
    std = {name: math.sqrt(mean(gap**2)) for name, gap in gaps.items()}
    std = {name: 0.0 if value <= noise[name] else value for name, value in std.items()}
    again = {n: _ratio(mean(gap * ahead(gap)), std[n], std[n]) for n, gap in gaps.items()}
    return (
        means,
        std,
        again,
        {n: _ratio(mean(gap * gaps[reference]), std[n], std[reference]) for n, gap in gaps.items()},
    )
