"""Estimate parameters by the simulated method of moments; used by ``estimation.py`` and ``adjustment_costs.py``.

Subclass :class:`Study` to say how a model's moments are simulated; :func:`estimate` then finds the parameters whose
moments are closest to those of the data. ``docs/estimation.md`` explains method and output.
"""

from __future__ import annotations

import argparse
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import chi2

import beltline as bl
from beltline.host.bench.options import require_least
from beltline.host.cli.arguments import check_writable
from beltline.host.plots.figures import check_plot

Array = NDArray[np.float64]

WEAK = 0.01
"""Parameters count as identified if the smallest singular value of the scaled Jacobian is above this.

The Jacobian is that of the weighted moments, with each parameter in units of its standard error.
"""

DEPENDENT = 1e-6
"""Moments count as linearly dependent if the smallest eigenvalue of their correlation matrix is below this."""

LEAST = 0.01
"""Lower bound of a moment's standard deviation at a guess, as a fraction of its largest one at any first guess."""


class Study(ABC):
    """The parameters to estimate and the moments that they are estimated from. Subclass it for a model."""

    names: ClassVar[tuple[str, ...]]
    """Names of the parameters."""

    low: ClassVar[Array]
    """Lower bounds of the parameters, ``(parameters,)``."""

    high: ClassVar[Array]
    """Upper bounds of the parameters, ``(parameters,)``."""

    step: ClassVar[Array]
    """Step of each parameter in central differences, ``(parameters,)``.

    Choose about one standard error: choices are grid points, so moments move in small jumps, and a much smaller step
    would measure these.
    """

    moments: ClassVar[tuple[str, ...]]
    """Names of the moments."""

    samples: int
    """Number of samples that :meth:`of` simulates at each point."""

    @abstractmethod
    def of(self, *points: Array) -> list[Array]:
        """Return the moments of each simulated sample, an array ``(samples, moments)`` for each point.

        All points use the same random numbers, so that moments differ by the parameters only. Each sample is as long as
        the data, so that the bias of moments in short samples is the same in both.
        """

    @abstractmethod
    def data(self, point: Any, seed: int) -> Array:
        """Return the moments of one artificial sample at ``point``, ``(moments,)``: data with known parameters.

        ``seed`` gives random numbers that :meth:`of` does not use.
        """


@contextlib.contextmanager
def refusing(parser: argparse.ArgumentParser) -> Iterator[None]:
    """End the program with one sentence and exit code 2 if Beltline refuses an argument or cannot open a device."""
    try:
        yield
    except (bl.ProblemError, bl.DeviceError) as error:
        parser.error(str(error))


def check_options(parser: argparse.ArgumentParser, given: argparse.Namespace, study: type[Study]) -> None:
    """End the program with one sentence, before any work, if an option that both programs have cannot be used."""
    least = 2 * len(study.moments)
    if given.samples <= least:
        parser.error(f"--samples must be above {least} for a covariance of moments, not {given.samples}")
    require_least(parser, given, seed=0, seeds=1)
    if given.plot is not None:
        if given.seeds is not None:
            parser.error("--plot draws a single estimation: leave out --seeds or --plot")
        with refusing(parser):
            check_plot(given.plot, "--plot")
            check_writable("--plot", given.plot)


def check_finite(study: Study | type[Study], moments: Array, of: str) -> None:
    """Raise ``ProblemError`` if a moment is not a finite number; ``moments`` are those of one or several samples."""
    for name, values in zip(study.moments, np.atleast_2d(moments).T, strict=True):
        if not np.isfinite(values).all():
            raise bl.ProblemError(
                f"the moment {name!r} of {of} is not a finite number: its series do not vary, or by too little "
                "(larger samples, a finer grid or more states may help)"
            )


def simulated(study: Study, *points: Array) -> list[Array]:
    """Return the moments of :meth:`Study.of`, or raise ``ProblemError`` if one is not a finite number."""
    found = study.of(*points)
    for point, each in zip(points, found, strict=True):
        where = ", ".join(f"{name} {value:.4g}" for name, value in zip(study.names, point, strict=True))
        check_finite(study, each, f"a sample simulated at {where}")
    return found


def around(study: Study, point: Array) -> list[Array]:
    """Return the point, then for each parameter its upper and its lower neighbour for central differences.

    Neighbours beyond a bound are moved to the bound.
    """
    size = range(len(study.names))
    moves = (sign * np.diag(study.step)[j] for j in size for sign in (1, -1))
    return [point, *(np.clip(point + move, study.low, study.high) for move in moves)]


def jacobian(study: Study, point: Array) -> Array:
    """Return the derivatives of the mean moments, ``(moments, parameters)``, by central differences."""
    _, *near = around(study, point)
    found = [each.mean(axis=0) for each in simulated(study, point, *near)[1:]]
    size = range(len(study.names))
    return np.stack([(found[2 * j] - found[2 * j + 1]) / (near[2 * j] - near[2 * j + 1])[j] for j in size], axis=1)


def fit(study: Study, data: Array, weights: Array, start: Array) -> Any:
    """Return SciPy's result of minimising the squared length of ``weights @ (model - data)`` from ``start``.

    Each guess and its neighbours for the Jacobian are simulated by one call of :meth:`Study.of`.
    """

    def gap(point: Array) -> Array:
        return np.asarray(weights @ (simulated(study, *around(study, point))[0].mean(axis=0) - data))

    return least_squares(
        gap,
        start,
        jac=lambda point: weights @ jacobian(study, point),
        bounds=(study.low, study.high),
        x_scale=study.step,
        xtol=1e-5,
        ftol=1e-6,
        max_nfev=50,
    )


def estimate(study: Study, data: Array) -> dict[str, Any]:
    """Estimate the parameters from ``data``, the moments of the data, in two steps.

    The first step weights each squared gap by one over the variance of the moment, from the best of a coarse grid of
    guesses. The second uses the optimal weights, the inverse of the covariance matrix at the first estimate.

    Returns
    -------
    dict
        ``first`` and ``second``, SciPy's results of both steps; ``point``, the estimates, and ``errors``, their
        standard errors; ``weights``, a root of the optimal weighting matrix; ``model``, the moments at the estimate,
        and ``deviation``, their standard deviations; ``slopes``, the Jacobian; ``values``, the singular values to
        compare with ``WEAK``; ``distance``, the test statistic of the overidentifying restrictions.

    Raises
    ------
    ProblemError
        A moment of the data or of a simulated sample is not a finite number.
    SystemExit
        A moment is the same in all simulated samples, or the moments are linearly dependent at the first estimate.
    """
    check_finite(study, data, "the data")
    axes = [np.linspace(low, high, 5)[1:-1] for low, high in zip(study.low, study.high, strict=True)]
    guesses = [np.array(point) for point in np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))]
    samples = simulated(study, *guesses)
    # A moment that is the same in all samples of a guess, such as a share of 0, would have infinite weight.
    spread = np.array([each.std(axis=0) for each in samples])
    spread = np.maximum(spread, LEAST * spread.max(axis=0))
    gaps = np.array([each.mean(axis=0) for each in samples]) - data
    best = int(np.argmin(((gaps / spread) ** 2).sum(axis=1)))
    first = fit(study, data, np.diag(1 / spread[best]), guesses[best])
    # The gap has the variance of the data's moments plus that of the mean of all simulated samples.
    covariance = np.cov(simulated(study, first.x)[0].T) * (1 + 1 / study.samples)
    spread = np.sqrt(np.diag(covariance))
    if (spread <= 0.0).any():
        same = study.moments[int(np.argmin(spread))]
        raise SystemExit(
            f"the moment {same!r} is the same in all simulated samples at {first.x}, the guess closest to the data "
            f"({', '.join(f'{value:.4g}' for value in data)}): correct the data, or leave this moment out"
        )
    if np.linalg.eigvalsh(covariance / np.outer(spread, spread)).min() < DEPENDENT:
        raise SystemExit(f"the moments are linearly dependent at {first.x}: leave one out")
    weights = np.linalg.cholesky(np.linalg.inv(covariance)).T
    second = fit(study, data, weights, first.x)
    slopes = jacobian(study, second.x)
    sensitivity = weights @ slopes
    errors = np.sqrt(np.diag(np.linalg.inv(sensitivity.T @ sensitivity)))
    return {
        "first": first,
        "second": second,
        "point": second.x,
        "errors": errors,
        "weights": weights,
        "model": study.of(second.x)[0].mean(axis=0),
        "deviation": np.sqrt(np.diag(covariance)),
        "slopes": slopes,
        "values": np.linalg.svd(sensitivity * errors, compute_uv=False),
        "distance": 2 * second.cost,
    }


def report(study: Study, found: dict[str, Any], data: Array, true: Any, solved: int) -> bool:
    """Print the estimates, the fit and the tests, and return whether the estimation succeeded.

    It succeeded if both steps converged inside the bounds, the parameters are identified and, where the true parameters
    are known, each estimate is within two standard errors of its own. ``found`` is the result of :func:`estimate`,
    ``true`` the true parameters or None, ``solved`` the number of problems that were solved.
    """
    good = True
    print("             " + ("     true" if true else "") + "  estimate  std. error")
    for j, name in enumerate(study.names):
        line = f"  {name:<11}{f'{true[j]:9.5f}' if true else ''}{found['point'][j]:10.5f}{found['errors'][j]:12.5f}"
        if true:
            off = (found["point"][j] - true[j]) / found["errors"][j]
            good = good and bool(abs(off) <= 2)
            line += f"   {off:+.2f} standard errors from the truth"
        print(line)
    print(f"\n  moment{'':25}data     model   std. dev.   change by one standard error of {', '.join(study.names)}")
    moved = found["slopes"] * found["errors"] / found["deviation"][:, None]
    for i, name in enumerate(study.moments):
        numbers = f"{data[i]:10.4f}{found['model'][i]:10.4f}{found['deviation'][i]:12.4f}"
        print(f"  {name:<27}{numbers}" + "".join(f"{value:10.2f}" for value in moved[i]))
    free = len(study.moments) - len(study.names)
    values = ", ".join(f"{value:.3g}" for value in found["values"])
    identified = bool(min(found["values"]) > WEAK)
    word = "the parameters are identified" if identified else "a combination of parameters is not identified"
    print(f"\n  identification: singular values {values}: {word}")
    chance = chi2.sf(found["distance"], free)
    print(f"  distance {found['distance']:.2f}, chi-squared of {free} degrees of freedom: p = {chance:.2f}")
    runs = found["first"], found["second"]
    converged = all(run.success for run in runs)
    word = "converged" if converged else "did not converge"
    print(f"  {word} after {' + '.join(str(run.nfev) for run in runs)} guesses; {solved} problems were solved")
    inside = bool(((found["point"] > study.low + 1e-9) & (found["point"] < study.high - 1e-9)).all())
    if not inside:
        print("  an estimate is at its bound")
    return good and converged and inside and identified


def repeat(study: Study, true: Any, seeds: range) -> bool:
    """Estimate from one artificial sample for each seed, and print each estimate's distance from the true parameters.

    Distances are in standard errors. Return whether all estimations converged.
    """
    found = [estimate(study, study.data(true, seed)) for seed in seeds]
    off = np.array([(each["point"] - true) / each["errors"] for each in found])
    for seed, row in zip(seeds, off, strict=True):
        print(
            f"  seed {seed:<4}"
            + "".join(f"  {name} {value:+.2f}" for name, value in zip(study.names, row, strict=True))
        )
    near = np.abs(off) <= 2
    print(f"  within two standard errors of the truth: {near.sum()} of {near.size}, all three {near.all(axis=1).sum()}")
    print(
        "  spread, in standard errors:",
        ", ".join(f"{n} {v:.2f}" for n, v in zip(study.names, off.std(axis=0), strict=True)),
    )
    return all(each["first"].success and each["second"].success for each in found)


def plot(study: Study, data: Array, found: dict[str, Any], true: Any, path: Path) -> None:
    """Draw the objective by parameter, with the others at their estimates, and write the figure to ``path``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    steps, size = np.linspace(-4, 4, 17), len(study.names)
    lines = [[found["point"] + step * np.eye(size)[j] * found["errors"][j] for step in steps] for j in range(size)]
    samples = iter(simulated(study, *(np.clip(point, study.low, study.high) for line in lines for point in line)))
    sensitivity = found["weights"] @ found["slopes"]
    for j, axes in enumerate(np.atleast_1d(figure.subplots(1, size, sharey=True))):
        values = [float(((found["weights"] @ (next(samples).mean(axis=0) - data)) ** 2).sum()) for _ in steps]
        around = found["point"][j] + steps * found["errors"][j]
        axes.axvspan(*(found["point"][j] + sign * 2 * found["errors"][j] for sign in (-1, 1)), color="0.92")
        curve = (sensitivity[:, j] ** 2).sum() * (steps * found["errors"][j]) ** 2 + found["distance"]
        axes.plot(around, curve, color="0.6", label="from the Jacobian")
        axes.plot(around, values, ".-", label="objective")
        axes.axvline(found["point"][j], color="C0", linestyle=":", label="estimate, two standard errors")
        if true:
            axes.axvline(true[j], color="C3", linestyle="--", label="truth")
        axes.set_xlabel(study.names[j])
        axes.locator_params(axis="x", nbins=4)
    figure.axes[0].set_ylabel("weighted distance of the moments")
    figure.axes[1].legend(loc="upper center", fontsize=8)
    figure.savefig(path, dpi=110)
