"""Estimate three parameters of the real business cycle model: ``python examples/estimation.py --help``.

The discount factor, risk aversion and the autocorrelation of productivity are estimated by the simulated method of
moments: for each guess the model is solved and simulated, and the guess is chosen whose moments are closest to those of
the data. ``docs/estimation.md`` explains the example.
"""

import argparse
import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from smm import Array, Study, check_finite, check_options, estimate, plot, refusing, repeat, report

import beltline as bl
from beltline.host.bench.options import require_least

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

COLUMNS = ("output", "consumption", "capital")
"""Columns of a file of data."""

SHORTEST = 10
"""Fewest periods of the data: in shorter samples the moments say next to nothing."""

TOL = 1e-6
"""Tolerance of each solve, in units of the value function."""


# Moments of series that do not vary are not finite, which smm.check_finite reports.
@np.errstate(divide="ignore", invalid="ignore")
def moments(series: dict[str, Array]) -> Array:
    """Return the moments of one sample, in the order of ``MOMENTS``."""
    output, consumption, capital = (series[name] for name in COLUMNS)
    y, c = np.log(output), np.log(consumption)
    if np.ptp(y) == 0 or np.ptp(c) == 0:  # their standard deviations may be rounding, not 0
        return np.array([capital.mean() / output.mean(), *[np.nan] * 4])
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

    def problem(self, point: Any) -> bl.Problem:
        """Return the planner's problem at ``point``."""
        return self.model(**dict(zip(self.names, map(float, point), strict=True)))

    def of(self, *points: Array) -> list[Array]:
        """Return the moments of each sample, as :meth:`smm.Study.of` does; new points are solved as one batch."""
        new = list(dict.fromkeys(tuple(map(float, p)) for p in points if tuple(map(float, p)) not in self.known))
        problems = [functools.partial(self.model, **dict(zip(self.names, point, strict=True))) for point in new]
        for point, attempt in zip(new, bl.solve_many(problems, TOL, **self.where), strict=True):
            if not attempt.success:
                raise SystemExit(f"not solved at {point}: {attempt.error or attempt.result.message}")
            path = bl.simulate(attempt.result, self.samples * self.periods, seed=2, choices="grid").series
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
        return bl.simulate(
            bl.solve(self.problem(point), TOL, progress=False), self.periods, seed=seed, choices="grid"
        ).series


def read(path: Path) -> dict[str, Array]:
    """Return the series of a file of data, or raise ``ProblemError`` if they cannot be used."""
    file = f"--data {str(path)!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file, which has no columns
            table = np.atleast_1d(np.genfromtxt(path, delimiter=",", names=True))
    except IndexError:
        raise bl.ProblemError(f"{file} is empty: its first line must name the columns {', '.join(COLUMNS)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise bl.ProblemError(f"{file} cannot be read: {reason}") from None
    if missing := [name for name in COLUMNS if name not in (table.dtype.names or ())]:
        raise bl.ProblemError(
            f"{file} must name the columns {', '.join(COLUMNS)} in its first line, which lacks {', '.join(missing)}"
        )
    if table.size < SHORTEST:
        raise bl.ProblemError(f"{file} must have at least {SHORTEST} periods, not {table.size}")
    for name in COLUMNS:
        if (wrong := ~((table[name] > 0) & (table[name] < np.inf))).any():
            first = int(np.argmax(wrong))
            raise bl.ProblemError(
                f"{file} must have numbers above 0 in column {name}, not {table[name][first]} in "
                f"period {first + 1} (text and empty cells are read as nan)"
            )
        if np.ptp(table[name]) == 0:
            raise bl.ProblemError(
                f"{file} must have a column {name} that varies, or its moments are not defined; "
                f"it is {table[name][0]} in all periods"
            )
    series = {name: table[name] for name in COLUMNS}
    check_finite(Economy, moments(series), file)
    return series


@contextlib.contextmanager
def client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Yield a client of a Dask scheduler or, without one, of new workers on this computer."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise bl.ProblemError(
            "--workers and --scheduler need the package distributed, which is not installed"
        ) from None
    with contextlib.ExitStack() as stack:
        cluster: Any = scheduler
        if scheduler is None:
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            stack.enter_context(cluster)
        try:
            found = Client(cluster)
        except (OSError, ValueError) as error:
            if scheduler is None:
                raise
            raise bl.ProblemError(
                f"--scheduler must be the address of a Dask scheduler, such as tcp://10.0.0.1:8786, not {scheduler!r}: "
                f"{error}"
            ) from None
        yield stack.enter_context(found)


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
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--workers", type=int, metavar="N", help="solve in N Dask workers on this computer")
    place.add_argument("--scheduler", metavar="ADDRESS", help="solve on the Dask cluster of this scheduler")
    parser.add_argument("--device", default="emulator", help="device that each worker opens (default %(default)s)")
    parser.add_argument("--store", type=Path, metavar="DIRECTORY", help="store results there, and reuse them")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the objective near the estimate")
    given = parser.parse_args(words)
    check_options(parser, given, Economy)
    require_least(parser, given, periods=SHORTEST, workers=1)
    if given.data is not None and given.seeds is not None:
        parser.error("--seeds needs artificial data: leave out --seeds or --data")
    with refusing(parser), contextlib.ExitStack() as stack:
        own = None if given.data is None else read(given.data)
        Economy(given, given.periods).problem(given.true)
        # No problem yet: this only checks the device and the store.
        bl.solve_many([], TOL, device=given.device, store=given.store)
        where: dict[str, Any] = {"device": given.device, "store": given.store}
        if given.workers or given.scheduler:
            where["executor"] = stack.enter_context(client(given.scheduler, given.workers))
        elif given.device == "emulator":
            where["device"] = stack.enter_context(bl.open("emulator"))
        if own is None:
            economy = Economy(given, given.periods, **where)
            if given.seeds:
                return 0 if repeat(economy, given.true, range(given.seed, given.seed + given.seeds)) else 1
            series, true = economy.sample(given.true, given.seed), given.true
        else:
            series, true = own, None
            economy = Economy(given, own["output"].size, **where)
        data = moments(series)
        found = estimate(economy, data)
        good = report(economy, found, data, true, len(economy.known))
        if given.plot is not None:
            plot(economy, data, found, true, given.plot)
            print(f"  written {given.plot}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
