"""Three parameters of the real business cycle from simulated moments: ``python examples/estimation.py --help``.

The discount factor, risk aversion and the persistence of productivity are estimated by the simulated method of moments:
the model is solved for each guess, simulated, and its moments brought as near the data's as they go. Docs:
``docs/estimation.md``.
"""

import argparse
import contextlib
import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import chi2

import beltline as bl

Array = NDArray[np.float64]

NAMES = ("beta", "eta", "rho")
TRUE = (0.984, 2.0, 0.95)
LOW, HIGH = np.array([0.970, 0.5, 0.85]), np.array([0.995, 5.0, 0.99])
STEP = np.array([0.0002, 0.1, 0.005])
"""Of central differences: about a standard error, which moves the moments by far more than a step of the grid does."""

MOMENTS = (
    "capital/output",
    "std log output",
    "autocorrelation of it",
    "std log consumption/output",
    "corr of the logs",
)
TOL = 1e-6

WEAK = 0.01
"""Singular value of the sensitivities below which the parameters are not told apart."""


def moments(series: dict[str, Array]) -> Array:
    """The moments of one sample, in the order of ``MOMENTS``."""
    output, consumption, capital = (series[name] for name in ("output", "consumption", "capital"))
    y, c = np.log(output), np.log(consumption)
    return np.array(
        [
            capital.mean() / output.mean(),
            y.std(),
            np.corrcoef(y[1:], y[:-1])[0, 1],
            c.std() / y.std(),
            np.corrcoef(c, y)[0, 1],
        ]
    )


class Economy:
    """The model's moments for any parameters, with the same random numbers for all of them.

    Samples are as long as the data's, so that what a short sample does to a moment is done to both.
    """

    def __init__(self, given: argparse.Namespace, periods: int, **where: Any) -> None:
        self.model = functools.partial(bl.rbc, grid=given.grid, states=given.states, delta=0.025, sigma=0.007)
        self.periods, self.samples, self.where = periods, given.samples, where
        self.known: dict[tuple[float, ...], Array] = {}

    def of(self, *points: Array) -> list[Array]:
        """Moments of each sample, ``(samples, moments)``, at each point; all that are new are solved in one batch."""
        new = list(dict.fromkeys(tuple(map(float, p)) for p in points if tuple(map(float, p)) not in self.known))
        problems = [functools.partial(self.model, **dict(zip(NAMES, point, strict=True))) for point in new]
        for point, attempt in zip(new, bl.solve_many(problems, TOL, **self.where), strict=True):
            if not attempt.success:
                raise SystemExit(f"not solved at {point}: {attempt.error or attempt.result.message}")
            path = bl.simulate(attempt.result, self.samples * self.periods, seed=2).series
            parts = {name: np.split(values, self.samples) for name, values in path.items()}
            self.known[point] = np.array(
                [moments(dict(zip(parts, part, strict=True))) for part in zip(*parts.values(), strict=True)]
            )
        return [self.known[tuple(map(float, point))] for point in points]

    def sample(self, point: Any, seed: int) -> dict[str, Array]:
        """Data of its own, from other random numbers."""
        problem = self.model(**dict(zip(NAMES, map(float, point), strict=True)))
        return bl.simulate(bl.solve(problem, TOL, progress=False), self.periods, seed=seed).series


def around(point: Array) -> list[Array]:
    """The point, and its neighbours for central differences, inside the bounds."""
    return [point, *(np.clip(point + sign * np.diag(STEP)[j], LOW, HIGH) for j in range(3) for sign in (1, -1))]


def jacobian(economy: Economy, point: Array) -> Array:
    """Derivatives of the moments, ``(moments, parameters)``, by central differences."""
    _, *near = around(point)
    found = [each.mean(axis=0) for each in economy.of(point, *near)[1:]]
    return np.stack([(found[2 * j] - found[2 * j + 1]) / (near[2 * j] - near[2 * j + 1])[j] for j in range(3)], axis=1)


def fit(economy: Economy, data: Array, weights: Array, start: Array) -> Any:
    """Least squares of ``weights (model - data)``; each guess is one batch with its neighbours."""

    def gap(point: Array) -> Array:
        return np.asarray(weights @ (economy.of(*around(point))[0].mean(axis=0) - data))

    return least_squares(
        gap,
        start,
        jac=lambda point: weights @ jacobian(economy, point),
        bounds=(LOW, HIGH),
        x_scale=STEP,
        xtol=1e-5,
        ftol=1e-6,
        max_nfev=50,
    )


def estimate(economy: Economy, data: Array) -> dict[str, Any]:
    """First with weights one over each moment's variance, then with the optimal ones."""
    axes = [np.linspace(low, high, 5)[1:-1] for low, high in zip(LOW, HIGH, strict=True)]
    guesses = [np.array(point) for point in np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 3)]
    samples = economy.of(*guesses)
    distances = [float((((each.mean(axis=0) - data) / each.std(axis=0)) ** 2).sum()) for each in samples]
    best = int(np.argmin(distances))
    first = fit(economy, data, np.diag(1 / samples[best].std(axis=0)), guesses[best])
    # Of the data's moments and, over the number of samples, of the simulated ones.
    covariance = np.cov(economy.of(first.x)[0].T) * (1 + 1 / economy.samples)
    weights = np.linalg.cholesky(np.linalg.inv(covariance)).T
    second = fit(economy, data, weights, first.x)
    slopes = jacobian(economy, second.x)
    sensitivity = weights @ slopes
    errors = np.sqrt(np.diag(np.linalg.inv(sensitivity.T @ sensitivity)))
    return {
        "first": first,
        "second": second,
        "point": second.x,
        "errors": errors,
        "weights": weights,
        "model": economy.of(second.x)[0].mean(axis=0),
        "deviation": np.sqrt(np.diag(covariance)),
        "slopes": slopes,
        "values": np.linalg.svd(sensitivity * errors, compute_uv=False),
        "distance": 2 * second.cost,
    }


def report(found: dict[str, Any], data: Array, true: Any, solved: int) -> bool:
    """Print everything; whether it converged, near the truth where that is known."""
    good = True
    print("             " + ("     true" if true else "") + "  estimate  std. error")
    for j, name in enumerate(NAMES):
        line = f"  {name:<11}{f'{true[j]:9.5f}' if true else ''}{found['point'][j]:10.5f}{found['errors'][j]:12.5f}"
        if true:
            off = (found["point"][j] - true[j]) / found["errors"][j]
            good = good and bool(abs(off) <= 2)
            line += f"   {off:+.2f} standard errors from the truth"
        print(line)
    print("\n  moment" + " " * 25 + "data     model   std. dev.   moved by one standard error of beta, eta, rho")
    moved = found["slopes"] * found["errors"] / found["deviation"][:, None]
    for i, name in enumerate(MOMENTS):
        numbers = f"{data[i]:10.4f}{found['model'][i]:10.4f}{found['deviation'][i]:12.4f}"
        print(f"  {name:<27}{numbers}" + "".join(f"{value:10.2f}" for value in moved[i]))
    free = len(MOMENTS) - len(NAMES)
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
    inside = bool(((found["point"] > LOW + 1e-9) & (found["point"] < HIGH - 1e-9)).all())
    if not inside:
        print("  an estimate is at its bound")
    return good and converged and inside and identified


def repeat(economy: Economy, true: Any, seeds: range) -> bool:
    """Estimate from one sample after the other, and print how far from the truth; whether all runs converged."""
    found = [estimate(economy, moments(economy.sample(true, seed))) for seed in seeds]
    off = np.array([(each["point"] - true) / each["errors"] for each in found])
    for seed, row in zip(seeds, off, strict=True):
        print(f"  seed {seed:<4}" + "".join(f"  {name} {value:+.2f}" for name, value in zip(NAMES, row, strict=True)))
    near = np.abs(off) <= 2
    print(f"  within two standard errors of the truth: {near.sum()} of {near.size}, all three {near.all(axis=1).sum()}")
    print(
        "  spread, in standard errors:", ", ".join(f"{n} {v:.2f}" for n, v in zip(NAMES, off.std(axis=0), strict=True))
    )
    return all(each["first"].success and each["second"].success for each in found)


def plot(economy: Economy, data: Array, found: dict[str, Any], true: Any, path: Path) -> None:
    """The objective along each parameter, the others at their estimates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    steps = np.linspace(-4, 4, 17)
    lines = [[found["point"] + step * np.eye(3)[j] * found["errors"][j] for step in steps] for j in range(3)]
    samples = iter(economy.of(*(np.clip(point, LOW, HIGH) for line in lines for point in line)))
    sensitivity = found["weights"] @ found["slopes"]
    for j, axes in enumerate(np.atleast_1d(figure.subplots(1, 3, sharey=True))):
        values = [float(((found["weights"] @ (next(samples).mean(axis=0) - data)) ** 2).sum()) for _ in steps]
        around = found["point"][j] + steps * found["errors"][j]
        axes.axvspan(*(found["point"][j] + sign * 2 * found["errors"][j] for sign in (-1, 1)), color="0.92")
        curve = (sensitivity[:, j] ** 2).sum() * (steps * found["errors"][j]) ** 2 + found["distance"]
        axes.plot(around, curve, color="0.6", label="from the Jacobian")
        axes.plot(around, values, ".-", label="objective")
        axes.axvline(found["point"][j], color="C0", linestyle=":", label="estimate, two standard errors")
        if true:
            axes.axvline(true[j], color="C3", linestyle="--", label="truth")
        axes.set_xlabel(NAMES[j])
    figure.axes[0].set_ylabel("weighted distance of the moments")
    figure.axes[1].legend(loc="upper center", fontsize=8)
    figure.savefig(path, dpi=110)


def main(words: list[str] | None = None) -> int:
    """Estimate, and return 0 where it converged, and within two standard errors of the truth where that is known."""
    parser = argparse.ArgumentParser(prog="estimation.py", description="Estimate beta, eta and rho of an RBC by SMM.")
    parser.add_argument("--true", type=float, nargs=3, metavar=("BETA", "ETA", "RHO"), default=TRUE, help="of own data")
    parser.add_argument("--data", type=Path, metavar="FILE.csv", help="output, consumption and capital instead")
    parser.add_argument("--periods", type=int, default=2000, help="of own data (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of own data (default %(default)s)")
    parser.add_argument("--seeds", type=int, metavar="N", help="estimate from so many samples, to see what errors say")
    parser.add_argument("--grid", type=int, default=512, help="grid points of capital (default %(default)s)")
    parser.add_argument("--states", type=int, default=9, help="productivity states (default %(default)s)")
    parser.add_argument("--samples", type=int, default=100, help="simulated samples (default %(default)s)")
    parser.add_argument("--workers", type=int, metavar="N", help="solve in so many Dask workers of this computer")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="solve on the Dask cluster of this scheduler")
    parser.add_argument("--device", default="emulator", help="that each worker opens (default %(default)s)")
    parser.add_argument("--store", type=Path, metavar="DIRECTORY", help="keep results there, and go on from them")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the objective around the estimate")
    given = parser.parse_args(words)
    if given.samples <= 2 * len(MOMENTS):
        parser.error(f"--samples must be above {2 * len(MOMENTS)} for a covariance of moments, not {given.samples}")
    with contextlib.ExitStack() as stack:
        where: dict[str, Any] = {"device": given.device, "store": given.store}
        if given.workers or given.scheduler:
            from distributed import Client, LocalCluster

            cluster = given.scheduler or stack.enter_context(
                LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=None)
            )
            where["executor"] = stack.enter_context(Client(cluster))
        elif given.device == "emulator":
            where["device"] = stack.enter_context(bl.open("emulator"))
        if given.data is None:
            economy = Economy(given, given.periods, **where)
            if given.seeds:
                return 0 if repeat(economy, given.true, range(given.seed, given.seed + given.seeds)) else 1
            series, true = economy.sample(given.true, given.seed), given.true
        else:
            table = np.genfromtxt(given.data, delimiter=",", names=True)
            series, true = {name: table[name] for name in ("output", "consumption", "capital")}, None
            economy = Economy(given, table.size, **where)
        data = moments(series)
        found = estimate(economy, data)
        good = report(found, data, true, len(economy.known))
        if given.plot is not None:
            plot(economy, data, found, true, given.plot)
            print(f"  written {given.plot}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
