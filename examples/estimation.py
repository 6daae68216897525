"""Estimate three parameters of the real business cycle model: ``python examples/estimation.py --help``.

The discount factor, risk aversion and the autocorrelation of productivity are estimated by the simulated method of
moments: for each guess the model is solved and simulated, and the guess is chosen whose moments are closest to those of
the data. ``docs/estimation.md`` explains the example.
"""

import argparse
import contextlib
import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
from smm import Array, Study, estimate, plot, repeat, report

import beltline as bl

TRUE = (0.984, 2.0, 0.95)
"""True parameters of the artificial data: discount factor, risk aversion, autocorrelation of log productivity."""

MOMENTS = (
    "capital/output",
    "std log output",
    "autocorrelation of it",
    "std log consumption/output",
    "corr of the logs",
)
"""Names of the moments, in their order. Logs are natural; "autocorrelation of it" is that of log output."""

TOL = 1e-6
"""Tolerance of each solve, in units of the value function."""


def moments(series: dict[str, Array]) -> Array:
    """Return the moments of one sample, in the order of ``MOMENTS``."""
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


class Economy(Study):
    """The real business cycle model.

    Parameters
    ----------
    given
        Options of the program: ``grid``, ``states`` and ``samples``.
    periods
        Periods of a sample, as many as the data have.
    where
        Options of ``bl.solve_many``, which solves all new points in one batch.
    """

    names = ("beta", "eta", "rho")
    low, high = np.array([0.970, 0.5, 0.85]), np.array([0.995, 5.0, 0.99])
    step = np.array([0.0002, 0.1, 0.005])
    moments = MOMENTS

    def __init__(self, given: argparse.Namespace, periods: int, **where: Any) -> None:
        self.model = functools.partial(bl.rbc, grid=given.grid, states=given.states, delta=0.025, sigma=0.007)
        self.periods, self.samples, self.where = periods, given.samples, where
        self.known: dict[tuple[float, ...], Array] = {}

    def of(self, *points: Array) -> list[Array]:
        """Return the moments of each sample, as :meth:`smm.Study.of` does; new points are solved as one batch."""
        new = list(dict.fromkeys(tuple(map(float, p)) for p in points if tuple(map(float, p)) not in self.known))
        problems = [functools.partial(self.model, **dict(zip(self.names, point, strict=True))) for point in new]
        for point, attempt in zip(new, bl.solve_many(problems, TOL, **self.where), strict=True):
            if not attempt.success:
                raise SystemExit(f"not solved at {point}: {attempt.error or attempt.result.message}")
            path = bl.simulate(attempt.result, self.samples * self.periods, seed=2).series
            parts = {name: np.split(values, self.samples) for name, values in path.items()}
            self.known[point] = np.array(
                [moments(dict(zip(parts, part, strict=True))) for part in zip(*parts.values(), strict=True)]
            )
        return [self.known[tuple(map(float, point))] for point in points]

    def data(self, point: Any, seed: int) -> Array:
        """Return the moments of one artificial sample, as :meth:`smm.Study.data` does."""
        return moments(self.sample(point, seed))

    def sample(self, point: Any, seed: int) -> dict[str, Array]:
        """Return a sample of artificial data, simulated with other random numbers."""
        problem = self.model(**dict(zip(self.names, map(float, point), strict=True)))
        return bl.simulate(bl.solve(problem, TOL, progress=False), self.periods, seed=seed).series


def main(words: list[str] | None = None) -> int:
    """Estimate; return 0 if this converged, within two standard errors of the true parameters if they are known."""
    parser = argparse.ArgumentParser(prog="estimation.py", description="Estimate beta, eta and rho of an RBC by SMM.")
    parser.add_argument(
        "--true", type=float, nargs=3, metavar=("BETA", "ETA", "RHO"), default=TRUE,
        help="true parameters of artificial data (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, metavar="FILE.csv", help="data: output, consumption and capital by period")
    parser.add_argument("--periods", type=int, default=2000, help="periods of artificial data (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of artificial data (default %(default)s)")
    parser.add_argument("--seeds", type=int, metavar="N", help="estimate from N samples, to check the standard errors")
    parser.add_argument("--grid", type=int, default=512, help="grid points of capital (default %(default)s)")
    parser.add_argument("--states", type=int, default=9, help="productivity states (default %(default)s)")
    parser.add_argument("--samples", type=int, default=100, help="number of simulated samples (default %(default)s)")
    parser.add_argument("--workers", type=int, metavar="N", help="solve in N Dask workers on this computer")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="solve on the Dask cluster of this scheduler")
    parser.add_argument("--device", default="emulator", help="device that each worker opens (default %(default)s)")
    parser.add_argument("--store", type=Path, metavar="DIRECTORY", help="store results there, and reuse them")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the objective near the estimate")
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
        good = report(economy, found, data, true, len(economy.known))
        if given.plot is not None:
            plot(economy, data, found, true, given.plot)
            print(f"  written {given.plot}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
