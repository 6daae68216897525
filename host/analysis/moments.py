"""Means, standard deviations and correlations of a solution: exact, or of a simulated path."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from beltline.host.analysis.policy import by_alternative, followed, heading, policy_of
from beltline.host.analysis.simulation import check_draws, simulate
from beltline.host.analysis.stationary import MEETING, stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import word
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
    _repr_html_ = as_html


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
    """Compute means, standard deviations, autocorrelations and correlations with output, in levels.

    Parameters
    ----------
    result : Result
        A solution with an infinite horizon.
    how : str
        ``"exact"`` (default): expectations under the stationary distribution, without sampling error.
        ``"simulation"``: moments of one path of :func:`beltline.simulate`.
    periods, burn_in, seed : int
        Length of that path (at least 2), periods dropped before it, and seed; ignored with ``"exact"``.

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
    >>> table = bl.moments(bl.solve(bl.rbc(grid=256), progress=False))
    >>> bool(table.std["investment"] / table.mean["investment"] > table.std["output"] / table.mean["output"])
    True
    """
    word("how", how, ("exact", "simulation"))
    problem = followed(result, "a table of moments")
    with warnings.catch_warnings():
        # followed() has given the warning already.
        warnings.simplefilter("ignore")
        if how == "exact":
            policy = policy_of(result)
            tables: Mapping[str, Array] = by_alternative(result)
            mass = stationary_distribution(result).reshape(-1, problem.points, problem.states)
            shares = mass[policy.regime] * policy.probability

            def mean(values: Array) -> float:
                return float((shares * values).sum())

            def ahead(values: Array) -> Array:
                by_regime = np.zeros_like(mass)
                np.add.at(by_regime, policy.regime, policy.probability * values)
                return policy.ahead(by_regime)

            # Mass within MEETING of the stationary distribution can give a constant this standard deviation.
            noise = {name: math.sqrt(10 * MEETING) * float(np.ptp(values)) for name, values in tables.items()}
            text = "Exact: expectations under the stationary distribution of the policy on the grid."
        else:
            periods, burn_in, seed = check_draws(periods, burn_in, seed, least=2)
            path = simulate(result, periods, burn_in, seed)
            tables = path.series
            noise = {name: 1e-12 * float(np.abs(values).max()) for name, values in tables.items()}
            text = f"Simulated: {periods:,} periods after {burn_in:,} that were dropped, seed {seed}."

            def mean(values: Array) -> float:
                return float(values.mean())

            def ahead(values: Array) -> Array:
                # The last period has no next one: it adds 0, and the sum is divided by all periods, as is usual.
                return np.append(values[1:], 0.0)

    reference = "output" if "output" in tables else "consumption"
    found = statistics(tables, noise, mean, ahead, reference)
    return Moments(tuple(tables), *found, reference, text, heading("Moments", result))


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
