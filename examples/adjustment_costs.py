"""Estimate costs of adjustment from investment of plants: ``python examples/adjustment_costs.py --help``.

The fixed cost, the convex cost and the volatility of productivity of ``bl.lumpy_investment`` are estimated by the
simulated method of moments: from a panel of plants that is simulated with known parameters, or with ``--moments`` from
the moments of your own data. ``docs/estimation.md`` explains the example.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from smm import Array, Study, check_options, estimate, plot, refusing, repeat, report

import beltline as bl
from beltline.host.bench.options import require_least

TRUE = (0.01, 0.05, 0.1)
"""True parameters of the artificial panel: fixed cost, convex cost, standard deviation of productivity shocks."""

YEARS, BEFORE = 17, 40
"""Years of a panel, as in Cooper and Haltiwanger (2006); and earlier simulated years that are discarded."""


RANGES = {"share": (0.0, 1.0), "std": (1e-6, 1e6), "corr": (-1.0, 1.0)}
"""Least and largest value of a moment of the data, by the first word of its name."""


class Plants(Study):
    """Simulated panels of plants.

    The indexes of productivity states follow the same path at every guess; ``sigma`` only scales their levels.

    Parameters
    ----------
    plants
        Number of plants of a panel.
    samples
        Number of simulated panels.
    steps
        Grid points of capital per year of depreciation, as of ``bl.lumpy_investment``.
    seed
        Seed of the simulated panels.
    """

    names = ("fixed", "convex", "sigma")
    low, high = np.array([0.0005, 0.002, 0.04]), np.array([0.04, 0.4, 0.2])
    step = np.array([0.0005, 0.005, 0.003])
    moments = (
        "share that keep",
        "share that sell",
        "std investment rate",
        "corr with year before",
        "corr with log productivity",
    )

    def __init__(self, plants: int, samples: int, steps: int, seed: int = 2) -> None:
        self.plants, self.samples, self.steps = plants, samples, steps
        self.known: dict[tuple[float, ...], Array] = {}
        self.states = self._productivity(samples * plants, seed)

    def problem(self, point: Any) -> Any:
        """Return the plant's problem at ``point``."""
        names = dict(zip(self.names, map(float, point), strict=True))
        return bl.lumpy_investment(steps=self.steps, low=0.003, high=200.0, **names)

    def _firm(self, point: Any) -> bl.LumpyInvestmentResult:
        """Return the solution of the plant's problem at ``point``."""
        firm = bl.solve(self.problem(point), progress=False)
        if not firm.success:
            raise SystemExit(f"not solved at {dict(zip(self.names, point, strict=True))}: {firm.message}")
        return firm

    def _productivity(self, count: int, seed: int) -> NDArray[np.int64]:
        """Return the index of the productivity state of each plant by year, ``(BEFORE + YEARS, count)``."""
        _, chain = bl.lumpy_investment(steps=1).chain
        above = np.cumsum(chain, axis=1)
        draws = np.random.default_rng(seed).random((BEFORE + YEARS, count))
        states = np.full((BEFORE + YEARS, count), len(chain) // 2)
        for year in range(1, BEFORE + YEARS):
            past = above[states[year - 1]]
            states[year] = np.minimum((draws[year, :, None] >= past).sum(axis=1), len(chain) - 1)
        return states

    def _panels(self, point: Any, states: NDArray[np.int64]) -> Array:
        """Return the moments of each panel, ``(panels, moments)``.

        ``states`` are those of :meth:`_productivity`, with the plants of one panel after those of another.
        """
        firm = self._firm(point)
        z = np.log(firm.productivity)
        capital = np.full(states.shape[1], int(np.searchsorted(firm.capital, 1.0)))
        rates, keeps = np.empty((2, YEARS, states.shape[1]))
        for year, here in enumerate(states):
            if year >= BEFORE:
                rates[year - BEFORE] = firm.investment_rate[capital, here]
                keeps[year - BEFORE] = ~firm.adjusts[capital, here]
            capital = firm.policy[capital, here]
        rates, keeps, z = (
            table.reshape(YEARS, -1, self.plants).swapaxes(0, 1) for table in (rates, keeps, z[states[BEFORE:]])
        )
        correlations = _correlation(rates[:, 1:], rates[:, :-1]), _correlation(rates, z)
        return np.stack(
            [keeps.mean(axis=(1, 2)), (rates < 0.0).mean(axis=(1, 2)), rates.std(axis=(1, 2)), *correlations], axis=1
        )

    def of(self, *points: Array) -> list[Array]:
        """Return the moments of each simulated panel, as :meth:`smm.Study.of` does; each point is solved once."""
        for point in points:
            if tuple(point) not in self.known:
                self.known[tuple(point)] = self._panels(point, self.states)
        return [self.known[tuple(point)] for point in points]

    def data(self, point: Any, seed: int) -> Array:
        """Return the moments of one artificial panel, as :meth:`smm.Study.data` does."""
        return self._panels(point, self._productivity(self.plants, 1000 + seed))[0]


# Investment that does not vary has no correlation, which smm.check_finite reports.
@np.errstate(divide="ignore", invalid="ignore")
def _correlation(first: Array, second: Array) -> Array:
    """Return the correlation over all plants and years of each panel, ``(panels,)``."""
    a, b = (each - each.mean(axis=(1, 2), keepdims=True) for each in (first, second))
    return np.asarray((a * b).mean(axis=(1, 2)) / np.sqrt((a**2).mean(axis=(1, 2)) * (b**2).mean(axis=(1, 2))))


def main(words: list[str] | None = None) -> int:
    """Estimate; return 0 if this converged, within two standard errors of the true parameters if they are known."""
    parser = argparse.ArgumentParser(prog="adjustment_costs.py", description="Estimate costs of adjustment by SMM.")
    parser.add_argument(
        "--true",
        type=float,
        nargs=3,
        metavar=("FIXED", "CONVEX", "SIGMA"),
        default=TRUE,
        help="true parameters of the artificial panel (default %(default)s)",
    )
    number = len(Plants.moments)
    parser.add_argument(
        "--moments", type=float, nargs=number, metavar="M", help="moments of your own data, in the order of the output"
    )
    parser.add_argument("--plants", type=int, default=1000, help="plants of a panel (default %(default)s)")
    parser.add_argument("--samples", type=int, default=50, help="number of simulated panels (default %(default)s)")
    parser.add_argument(
        "--steps", type=int, default=2, help="grid points per year of depreciation (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the artificial panel (default %(default)s)")
    parser.add_argument("--seeds", type=int, metavar="N", help="estimate from N panels, to check the standard errors")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the objective near the estimate")
    given = parser.parse_args(words)
    check_options(parser, given, Plants)
    require_least(parser, given, plants=2)
    if given.moments is not None and given.seeds is not None:
        parser.error("--seeds needs artificial panels: leave out --seeds or --moments")
    for name, value in zip(Plants.moments, given.moments or (), strict=given.moments is not None):
        low, high = RANGES[name.split()[0]]
        if not low <= value <= high:
            parser.error(f"--moments: {name} must be from {low:g} to {high:g}, not {value}")
    with refusing(parser):
        return run(given)


def run(given: argparse.Namespace) -> int:
    """Estimate with checked options; return the exit code."""
    study = Plants(given.plants, given.samples, given.steps)
    study.problem(given.true)
    if given.seeds:
        return 0 if repeat(study, given.true, range(given.seed, given.seed + given.seeds)) else 1
    true = given.true if given.moments is None else None
    data = study.data(true, given.seed) if true is not None else np.array(given.moments)
    found = estimate(study, data)
    good = report(study, found, data, true, len(study.known))
    if given.plot is not None:
        plot(study, data, found, true, given.plot)
        print(f"  written {given.plot}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
