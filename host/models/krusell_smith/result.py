"""The solved economy of Krusell and Smith (1998): the estimated law of motion, the last panel, and its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.krusell_smith import panel, shocks
from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.krusell_smith.calibration import AGGREGATES, Calibration
from beltline.host.models.model_result import SearchResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.results.facts import ANY_NUMBER, COUNT, POSITIVE, SECONDS, TEXT
from beltline.host.results.fields import array, contained, fact

NEAR_TOP_SHARE = 0.01
"""Largest ``near_top`` at which the grid of ``k`` counts as long enough."""

_FLAGS, _WEALTH = ("|u1", "|i1"), ("<f8", "<f4")


class ConstantCapital(ProblemError):
    """Aggregate capital does not vary in a state, so that its law of motion cannot be estimated."""


def regressed(aggregate: NDArray[np.int8], a: int) -> NDArray[np.bool_]:
    """Return which periods are in aggregate state ``a``; refuse fewer than three, too few to estimate a law."""
    here: NDArray[np.bool_] = aggregate == a
    if here.sum() < 3:
        raise ProblemError(
            f"{aggregate.size:,} periods are too few: {here.sum()} of them are in the {AGGREGATES[a]} state, whose law "
            f"needs 3"
        )
    return here


def regression(capital: Array, aggregate: NDArray[np.int8]) -> tuple[Array, Array]:
    """Estimate ``ln K' = b0 + b1 ln K`` for each aggregate state by least squares; return the coefficients, ``(2, 2)``,
    and the two R squared. ``capital`` has one period more than ``aggregate``.
    """
    log = np.log(capital)
    law, r2 = np.empty((2, 2)), np.empty(2)
    for a in range(2):
        here = regressed(aggregate, a)
        x, y = log[:-1][here], log[1:][here]
        if np.ptp(x) == 0:
            raise ConstantCapital(f"K is constant in the {AGGREGATES[a]} state, so that its law cannot be estimated")
        dx, dy = x - x.mean(), y - y.mean()
        slope = float(dx @ dy / (dx @ dx))
        law[a] = y.mean() - slope * x.mean(), slope
        spread = float(dy @ dy)
        r2[a] = 1 - float(((dy - slope * dx) ** 2).sum()) / spread if spread > 0 else 1.0
    return law, r2


def forecast(law: Array, start: float, aggregate: NDArray[np.int8]) -> Array:
    """Return ``K`` predicted by the law alone, from ``start`` on: one period more than ``aggregate``."""
    path = np.empty(aggregate.size + 1)
    path[0] = math.log(start)
    for t, a in enumerate(aggregate):
        path[t + 1] = law[a, 0] + law[a, 1] * path[t]
    return np.exp(path)


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(SearchResult):
    """The equilibrium of Krusell and Smith (1998), or the last iteration if it was not found.

    ``economy`` is the :class:`~beltline.KrusellSmith` that was solved. It is solved if the law of motion converged, the
    household's problem is solved, and the grids of ``k`` and ``K`` are long enough: ``near_top`` is at most
    :data:`NEAR_TOP_SHARE`, and ``K`` is off its grid in at most a share
    :data:`~beltline.host.results.outcome.GRID_END_SHARE` of the periods that are not discarded.

    Examples
    --------
    >>> import beltline as bl
    >>> found = bl.solve(bl.krusell_smith(), agents=1000, periods=400, progress=False)
    >>> found.success, found.law.shape, found.policy.shape
    (True, (2, 2), (100, 4, 2, 2))
    """

    archive_kind: ClassVar[str] = "krusell_smith"
    names: ClassVar[tuple[str, str]] = ("economy", "")
    figures: ClassVar[dict[str, str]] = {
        "policy": "surfaces of saving over ``k`` and ``K``",
        "law": "the two regressions and their residuals",
        "path": "``K`` in the panel and as predicted by the law",
        "wealth": "distribution of wealth",
        "lorenz": "Lorenz curve of wealth",
    }

    law: Array = array(
        "aggregate_state", "coefficient", text="Last estimate of the law ``ln K' = b0 + b1 ln K``: ``b0`` and ``b1`` "
        "of the bad and of the good state",
    )  # fmt: skip
    r2: Array = array("aggregate_state", text="R squared of the two regressions")
    change: float = fact(
        ANY_NUMBER, "Largest difference between a coefficient of ``law`` and of the law that households believed"
    )
    tol: float = fact(POSITIVE, "Tolerance of ``change``")
    iterations: int = fact(COUNT, "Number of iterations on the law")
    relaxation: float = fact(
        POSITIVE, "Share of the distance to the estimate by which the law is changed in an iteration"
    )
    household_iterations: int = fact(COUNT, "Number of iterations (or sweeps) of all household problems")
    capital: Array = array("beginning", text="``K`` in the last panel, discarded periods included")
    aggregate: NDArray[np.int8] = array("period", text="Aggregate state of each period: 0 bad, 1 good", dtypes=_FLAGS)
    discard: int = fact(COUNT, "Number of periods at the start that are not used for regressions and forecast errors")
    wealth: NDArray[Any] = array("agent", text="Capital of each household at the end of the panel", dtypes=_WEALTH)
    employed: NDArray[np.uint8] = array(
        "agent", text="Whether each household is employed at the end of the panel", dtypes=_FLAGS
    )
    start: NDArray[Any] = array("agent", text="Capital of each household at the start of the panel", dtypes=_WEALTH)
    grid: Array = array("point", text="Grid of ``k`` of the policy")
    policy: Array = array(
        "point", "mean", "aggregate_state", "employment", text="``k'`` by ``k``, ``K``, aggregate state and employment"
    )
    below: int = fact(COUNT, "How often interpolation of the policy in the last panel was below the grid of ``k``")
    above: int = fact(COUNT, "How often it was above the grid")
    outside: int = fact(COUNT, "Number of periods in which ``K`` was off its grid")
    household: str = fact(TEXT, "Method for the household's problem")
    device: str = fact(TEXT, "Device that solved it")
    interpolation: str = fact(TEXT, "Interpolation of the policy in the panel")
    panel: str = fact(TEXT, "Where the panel was simulated")
    seed: int = fact(COUNT, "Seed of the shocks")
    timing: dict[str, float] = fact(SECONDS, "Wall-clock time of the host computer by part", "seconds")
    economy: Calibration = contained()

    @property
    def sweeps(self) -> int:
        """Number of iterations (or sweeps) of all household problems."""
        return self.household_iterations

    @property
    def method(self) -> str:
        """Method for the household's problem."""
        return self.household

    @property
    def residual(self) -> float:
        """Largest difference between a coefficient of the law and of the law that households believed."""
        return self.change

    @property
    def forecast(self) -> Array:
        """``K`` predicted by the law alone, from the first period that is not discarded (Den Haan 2010)."""
        return forecast(self.law, float(self.capital[self.discard]), self.aggregate[self.discard :])

    @property
    def forecast_errors(self) -> Array:
        """Den Haan's dynamic forecast error by period, in percent: ``100 |ln K_forecast - ln K|``."""
        return 100 * np.abs(np.log(self.forecast / self.capital[self.discard :]))

    @property
    def at_top(self) -> int:
        """Number of households with the largest capital of the grid at the end; if not 0, the grid is too short."""
        return int((self.wealth >= self.wealth.dtype.type(self.grid[-1])).sum())

    @property
    def near_top(self) -> float:
        """Share of households that own more than nine tenths of the largest capital of the grid at the end.

        Near the end of the grid households save less, so that few reach it even if many would save more.
        """
        return float((self.wealth > 0.9 * self.grid[-1]).mean())

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth at the end of the panel."""
        return gini(self.wealth)

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth at the end of the panel, in the form of :func:`beltline.lorenz`."""
        return lorenz(self.wealth)

    @property
    def shocks(self) -> shocks.Shocks:
        """The shocks of the panel, drawn again from the seed."""
        economy = self.economy
        return shocks.draw_shocks(
            self.wealth.size, self.aggregate.size, economy.transition, economy.unemployment, self.seed
        )

    def _title(self) -> str:
        agents, periods = f"{self.wealth.size:,} agents", f"{self.aggregate.size:,} periods"
        return f"Krusell-Smith, {agents}, {periods}, grid {self.grid.size:,} x {self.economy.means}"

    def _rows(self) -> list[tuple[str, str]]:
        errors = self.forecast_errors
        laws = [
            (f"law, {name}", f"ln K' = {b[0]:.6f} + {b[1]:.6f} ln K, R2 = {r2:.7f}")
            for name, b, r2 in zip(AGGREGATES, self.law, self.r2, strict=True)
        ]
        steps = "iterations" if self.household == "euler" else "sweeps"
        used = self.capital[self.discard :]
        short = f", {self.at_top:,} agents at the end of the grid of k" if self.at_top else ""
        return [
            *laws,
            ("forecast error", f"{errors.max():.4f} % at most, {errors.mean():.4f} % on average (Den Haan, dynamic)"),
            ("capital", f"mean {used.mean():.4f}, from {used.min():.4f} to {used.max():.4f}"),
            ("wealth", f"Gini {self.gini:.4f}, largest {self.wealth.max():.2f}{short}"),
            (
                "off the grid",
                f"k {self.below:,} times below and {self.above:,} times above its grid, of "
                f"{self.wealth.size * self.aggregate.size:,}; K in {self.outside:,} periods",
            ),
            ("household", f"{self.household} on {self.device}, {self.household_iterations:,} {steps} in all"),
            ("panel", f"{self.interpolation} on {self.panel}, seed {self.seed}"),
        ]

    @classmethod
    def _grouped(cls, model: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {"result": facts, "economy": model}

    @classmethod
    def _ungrouped(cls, facts: dict[str, Any]) -> tuple[object, dict[str, Any]]:
        return facts["economy"], facts["result"]

    def _sizes(self) -> dict[str, int]:
        return {"aggregate_state": 2, "coefficient": 2, "employment": 2, "beginning": self.aggregate.size + 1}

    def _check_file(self) -> None:
        super()._check_file()
        if not self.discard < self.aggregate.size:
            raise ProblemError(f"its panel has {self.aggregate.size} periods and discards {self.discard}")
        for name in ("aggregate", "employed"):
            if not np.isin(getattr(self, name), (0, 1)).all():
                raise ProblemError(f"{name} must be 0 or 1 everywhere")


def panel_errors(result: Equilibrium) -> dict[str, float]:
    """Compute the error that each interpolation of the policy causes in the path of mean capital, in percent.

    The panel of ``result`` is simulated again on the processor with each interpolation, with the same policy, shocks
    and start. The error is the largest relative distance from the path with Catmull-Rom interpolation in double
    precision (Hatcher and Scheffel 2016).

    Parameters
    ----------
    result : Equilibrium
        A solution of :func:`beltline.krusell_smith`.

    Returns
    -------
    dict of str to float
        Error in percent by name of the interpolation.

    Raises
    ------
    ProblemError
        ``result`` is not an :class:`~beltline.Equilibrium`.

    Examples
    --------
    >>> bl.panel_errors(bl.load("economy.npz"))  # doctest: +SKIP
    {'bicubic': 0.0, 'linear': 0.0132, ...}
    """
    if not isinstance(result, Equilibrium):
        raise ProblemError(f"result must be an Equilibrium, not {shown(result)}")
    drawn = result.shocks
    paths = {
        name: panel.simulate(
            result.policy, result.grid, result.economy.mean_grid, drawn, result.start.astype(np.float64), name
        ).capital
        for name in panel.INTERPOLATIONS
    }
    return {name: panel.path_error(path, paths["bicubic"]) for name, path in paths.items()}
