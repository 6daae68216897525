"""The simulated method of moments, for any model whose moments a :class:`Study` simulates: a module of the examples.

Docs: ``docs/estimation.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import chi2

Array = NDArray[np.float64]

WEAK = 0.01
"""Singular value of the sensitivities below which the parameters are not told apart."""

DEPENDENT = 1e-6
"""Eigenvalue of the correlations of the moments below which one of them is a combination of the others."""

LEAST = 0.01
"""Of the largest standard deviation of a moment at any guess, that it is taken to have at least."""


class Study(ABC):
    """What is estimated, and from which moments. Subclass it for a model."""

    names: ClassVar[tuple[str, ...]]
    """Of the parameters."""

    low: ClassVar[Array]
    """Lowest values of the parameters."""

    high: ClassVar[Array]
    """Highest values."""

    step: ClassVar[Array]
    """Of central differences: about a standard error, which moves moments by far more than a step of the grid does."""

    moments: ClassVar[tuple[str, ...]]
    """Names of the moments."""

    samples: int
    """Samples that :meth:`of` simulates."""

    @abstractmethod
    def of(self, *points: Array) -> list[Array]:
        """Moments of each sample, ``(samples, moments)``, at each point: with the same random numbers at all of them,
        and samples as long as the data's, so that what a short sample does to a moment is done to both.
        """

    @abstractmethod
    def data(self, point: Any, seed: int) -> Array:
        """Moments of one sample at ``point`` with other random numbers, in place of data."""


def around(study: Study, point: Array) -> list[Array]:
    """The point, and its neighbours for central differences, inside the bounds."""
    size = range(len(study.names))
    moves = (sign * np.diag(study.step)[j] for j in size for sign in (1, -1))
    return [point, *(np.clip(point + move, study.low, study.high) for move in moves)]


def jacobian(study: Study, point: Array) -> Array:
    """Derivatives of the moments, ``(moments, parameters)``, by central differences."""
    _, *near = around(study, point)
    found = [each.mean(axis=0) for each in study.of(point, *near)[1:]]
    size = range(len(study.names))
    return np.stack([(found[2 * j] - found[2 * j + 1]) / (near[2 * j] - near[2 * j + 1])[j] for j in size], axis=1)


def fit(study: Study, data: Array, weights: Array, start: Array) -> Any:
    """Least squares of ``weights (model - data)``; each guess is one batch with its neighbours."""

    def gap(point: Array) -> Array:
        return np.asarray(weights @ (study.of(*around(study, point))[0].mean(axis=0) - data))

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
    """First with weights one over each moment's variance, then with the optimal ones."""
    axes = [np.linspace(low, high, 5)[1:-1] for low, high in zip(study.low, study.high, strict=True)]
    guesses = [np.array(point) for point in np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))]
    samples = study.of(*guesses)
    # A moment that is the same in all samples of a guess, such as a share of 0, has no infinite weight.
    spread = np.array([each.std(axis=0) for each in samples])
    spread = np.maximum(spread, LEAST * spread.max(axis=0))
    gaps = np.array([each.mean(axis=0) for each in samples]) - data
    best = int(np.argmin(((gaps / spread) ** 2).sum(axis=1)))
    first = fit(study, data, np.diag(1 / spread[best]), guesses[best])
    # Of the data's moments and, over the number of samples, of the simulated ones.
    covariance = np.cov(study.of(first.x)[0].T) * (1 + 1 / study.samples)
    spread = np.sqrt(np.diag(covariance))
    if (spread <= 0.0).any() or np.linalg.eigvalsh(covariance / np.outer(spread, spread)).min() < DEPENDENT:
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
    """Print everything; whether it converged, near the truth where that is known."""
    good = True
    print("             " + ("     true" if true else "") + "  estimate  std. error")
    for j, name in enumerate(study.names):
        line = f"  {name:<11}{f'{true[j]:9.5f}' if true else ''}{found['point'][j]:10.5f}{found['errors'][j]:12.5f}"
        if true:
            off = (found["point"][j] - true[j]) / found["errors"][j]
            good = good and bool(abs(off) <= 2)
            line += f"   {off:+.2f} standard errors from the truth"
        print(line)
    print(f"\n  moment{'':25}data     model   std. dev.   moved by one standard error of {', '.join(study.names)}")
    moved = found["slopes"] * found["errors"] / found["deviation"][:, None]
    for i, name in enumerate(study.moments):
        numbers = f"{data[i]:10.4f}{found['model'][i]:10.4f}{found['deviation'][i]:12.4f}"
        print(f"  {name:<27}{numbers}" + "".join(f"{value:10.2f}" for value in moved[i]))
    free = len(study.moments) - len(study.names)
    values = ", ".join(f"{value:.3g}" for value in found["values"])
    identified = bool(min(found["values"]) > WEAK)
    word = "no direction leaves" if identified else "some direction nearly leaves"
    print(f"\n  identification: singular values {values}: {word} all moments as they are")
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
    """Estimate from one sample after the other, and print how far from the truth; whether all runs converged."""
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
    """The objective along each parameter, the others at their estimates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    steps, size = np.linspace(-4, 4, 17), len(study.names)
    lines = [[found["point"] + step * np.eye(size)[j] * found["errors"][j] for step in steps] for j in range(size)]
    samples = iter(study.of(*(np.clip(point, study.low, study.high) for line in lines for point in line)))
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
