"""The solved Aiyagari economy with several types of households."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.aiyagari_path.result import CUBICS, PATH_TOLERANCE
from beltline.host.models.aiyagari_types.calibration import Calibration
from beltline.host.models.model_result import STATUS, ModelResult
from beltline.host.problem.arrays import Array
from beltline.host.results.facts import ANY_NUMBER, COUNT, FLAG, MEASURE, TEXT
from beltline.host.results.fields import array, fact
from beltline.host.results.outcome import GRID_END_SHARE


@dataclass(frozen=True, eq=False, repr=False)
class TypesEconomy(ModelResult):
    """The Aiyagari economy with several types of households, at the interest rate that clears its capital market.

    Arrays are float64; they are nan if no equilibrium was found. ``n`` is the number of types.

    ``model`` is the :class:`~beltline.host.models.aiyagari_types.model.AiyagariTypes` that was solved. It is solved if
    the values of every type converged, its stationary distribution is unique, the market clears (``excess`` is at most
    :data:`~beltline.host.models.aiyagari_path.result.PATH_TOLERANCE` in absolute value) and the grid is long enough
    (``at_top`` is at most :data:`~beltline.host.results.outcome.GRID_END_SHARE`).

    Examples
    --------
    >>> import beltline as bl
    >>> model = bl.aiyagari_types(grid=100, states=3, betas=[0.93, 0.96], weights=[0.8, 0.2])
    >>> bl.solve(model, progress=False).choice.shape
    (2, 100, 3)
    """

    archive_kind: ClassVar[str] = "aiyagari_types"
    names: ClassVar[tuple[str, str]] = ("model", "")
    figures: ClassVar[dict[str, str]] = {
        "shares": "share of each type among households and in wealth",
        "lorenz": "Lorenz curve of wealth among all households",
    }

    model: Calibration
    interest: float = fact(ANY_NUMBER, "Net interest rate of a period")
    excess: float = fact(ANY_NUMBER, "Excess supply of capital as a share of demand")
    value: Array = array("type", "assets", "state", text="Value of each type", unit="units of utility")
    choice: Array = array(
        "type", "assets", "state", text="Assets that each type chooses for the next period, between grid points",
        unit="units of the good",
    )  # fmt: skip
    distribution: Array = array(
        "type", "assets", "state", text="Share of the households of each type in each state; adds up to 1 for each type"
    )
    success: bool = fact(FLAG, "Whether the economy is solved")
    status: str = fact(STATUS, '``"solved"``, or which part of the economy is not')
    message: str = fact(TEXT, "The status in a sentence and, after a failure, what to do")
    steps: int = fact(COUNT, "Number of interest rates that were tried")
    seconds: float = fact(MEASURE, "Wall-clock time of the host computer", "seconds")
    sweeps: int = fact(COUNT, "Number of sweeps that maximise, of all types at all rates; 0 if not known", default=0)
    residual: float = fact(
        ANY_NUMBER, "Largest change of a value in the last sweep; nan if not known", default=math.nan
    )

    method: ClassVar[str] = CUBICS
    error_bound: ClassVar[float] = math.inf

    @property
    def timing(self) -> dict[str, float]:
        """Wall-clock seconds of the host computer."""
        return {"solve": self.seconds}

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.model.economy.assets

    @property
    def wage(self) -> float:
        """Wage of a unit of labour."""
        return self.model.economy.wage(self.interest)

    @property
    def mean_assets(self) -> Array:
        """Mean assets of each type, ``(n,)``, in units of the good."""
        found: Array = self.distribution.sum(axis=2) @ self.assets
        return found

    @property
    def capital(self) -> float:
        """Capital per head that all households supply, in units of the good."""
        return float(self.model.shares @ self.mean_assets)

    @property
    def output(self) -> float:
        """Output per head, ``K**alpha``, in units of the good."""
        return float(self.capital**self.model.economy.alpha)

    @property
    def consumption(self) -> Array:
        """Consumption per head of each type, ``(n,)``, in units of the good."""
        units, _ = self.model.economy.labour()
        wealth = (1.0 + self.interest) * self.assets[:, None] + self.wage * units
        found: Array = (self.distribution * (wealth - self.choice)).sum(axis=(1, 2))
        return found

    @property
    def wealth_shares(self) -> Array:
        """Share of each type in total wealth, ``(n,)``; adds up to 1."""
        return np.asarray(self.model.shares * self.mean_assets / self.capital)

    @property
    def households(self) -> Array:
        """Share of all households at each grid point of assets, ``(N_k,)``; adds up to 1."""
        found: Array = self.model.shares @ self.distribution.sum(axis=2)
        return found

    @property
    def gini(self) -> float:
        """Gini coefficient of wealth among all households."""
        return gini(self.assets, self.households)

    @property
    def ginis(self) -> Array:
        """Gini coefficient of wealth within each type, ``(n,)``; nan if it has none."""
        return np.array([
            gini(self.assets, mass.sum(axis=1)) if mean > 0 else math.nan
            for mass, mean in zip(self.distribution, self.mean_assets, strict=True)
        ])  # fmt: skip

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of wealth among all households, in the form of :func:`beltline.lorenz`."""
        return lorenz(self.assets, self.households)

    @property
    def at_limit(self) -> Array:
        """Share of each type that chooses zero assets, ``(n,)``."""
        found: Array = (self.distribution * (self.choice <= 0.0)).sum(axis=(1, 2))
        return found

    @property
    def at_top(self) -> float:
        """Share of all households that choose the highest assets; if it is not small, raise ``high``."""
        highest = (self.distribution * (self.choice >= self.assets[-1])).sum(axis=(1, 2))
        return float(self.model.shares @ highest)

    def _title(self) -> str:
        economy, types = self.model.economy, len(self.model.betas)
        size = f"{economy.grid:,} grid points x {economy.states} states"
        return f"Aiyagari's economy with {types} types of households, {size}, on device cpu"

    def _rows(self) -> list[tuple[str, str]]:
        model, rows = self.model, [("steps", f"{self.steps} interest rates")]
        if math.isfinite(self.interest):
            top = 1 / model.economy.beta - 1
            rows += [
                ("interest", f"{self.interest:.4%} a period, 1/beta - 1 of the most patient type = {top:.4%}"),
                ("capital", f"{self.capital:.5f} per head, wage {self.wage:.5f}, output {self.output:.5f}"),
                ("wealth", f"Gini {self.gini:.4f}"),
                (
                    "market",
                    f"excess supply {self.excess:+.1e} of demand (at most {PATH_TOLERANCE:g} in absolute value)",
                ),
                ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ]
            each = zip(
                model.names, model.weights, self.wealth_shares, self.mean_assets, self.ginis, self.at_limit,
                strict=True,
            )  # fmt: skip
            rows += [
                (f"type {number}", f"{name}: {weight:.1%} of households, {share:.1%} of wealth, {mean:.4f} per head, "
                                   f"Gini {within:.4f}; {limit:.1%} choose zero assets")
                for number, (name, weight, share, mean, within, limit) in enumerate(each, start=1)
            ]  # fmt: skip
        return rows

    def _coordinates(self) -> dict[str, Any]:
        return {"assets": ("assets", self.assets, {"long_name": "assets a", "units": "units of the good"})}

    def _sizes(self) -> dict[str, int]:
        economy = self.model.economy
        return {"type": len(self.model.betas), "assets": economy.grid, "state": economy.states}
