"""The solved life cycle of a cohort: tables by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.paths import Paths, carry, summary
from beltline.host.models.model_result import SolutionResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, table
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.result import Result

SHARES = (0.1, 0.5, 0.9)
"""Default percentiles of :meth:`CohortResult.paths`."""


@dataclass(frozen=True, eq=False, repr=False)
class CohortResult(SolutionResult):
    """Value and choices at every age, and the distribution of the cohort by age.

    Arrays are float64 unless noted, ``(T, N_k, N_s)``: ages, the first one first, assets, and income states of the
    living. An income state is a pair of persistent and transitory shock; the transitory one varies fastest.

    ``model`` is the :class:`~beltline.host.models.cohort.model.Cohort` that was solved, and ``solution`` the
    :class:`~beltline.Result` of its problem: the last exogenous state is that of the dead.

    Examples
    --------
    >>> import beltline as bl
    >>> people = bl.solve(bl.cohort(grid=60, states=3), progress=False)
    >>> people.success, people.consumption.shape == people.distribution.shape
    (True, True)
    """

    archive_kind: ClassVar[str] = "cohort"
    figures: ClassVar[dict[str, str]] = {
        "paths": "means of income, consumption and assets by age, and the range from percentile 10 to 90",
        "inequality": "variances of log income and log consumption, and Gini coefficient of assets, by age",
        "policy": "consumption by assets at four ages",
    }

    model: Calibration
    solution: Result

    @property
    def ages(self) -> NDArray[np.int64]:
        """Ages in years, ``(T,)``."""
        return np.arange(self.model.first, self.model.last + 1)

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, in units of the good."""
        return self.model.assets

    @property
    def income(self) -> Array:
        """Income by age and income state, ``(T, N_s)``, in units of the good."""
        return self.model.incomes

    @property
    def value(self) -> Array:
        """Value of the living, in units of utility."""
        return self.solution.tables.value[:, 0, :, :-1]

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the assets that are chosen for the next age, int32."""
        return self.solution.tables.policy[:, 0, :, :-1]

    @property
    def next_assets(self) -> Array:
        """Assets that are chosen for the next age, in units of the good."""
        return self.assets[self.policy]

    @property
    def consumption(self) -> Array:
        """Consumption, in units of the good."""
        return np.asarray(self.solution.problem.wealth[:, :, :-1] - self.next_assets)

    @cached_property
    def distribution(self) -> Array:
        """Share of the cohort in each state by age; the sum over states is the share that is alive."""
        return carry(self.policy, self.model.chain, self.model.survival, self.model.beginning)

    @property
    def alive(self) -> Array:
        """Share of the cohort that is alive, by age, ``(T,)``."""
        found: Array = self.distribution.sum(axis=(1, 2))
        return found

    @property
    def bequests(self) -> Array:
        """Mean bequest of those who die at the end of each age, ``(T,)``, with interest, in units of the good."""
        saved = (self.distribution * self.next_assets).sum(axis=(1, 2)) / self.alive
        return np.asarray((1.0 + self.model.interest) * saved)

    @property
    def mean_bequest(self) -> float:
        """Mean bequest of the whole cohort, over all ages of death, in units of the good."""
        return float(-np.diff(self.alive, append=0.0) @ self.bequests)

    def paths(self, shares: Sequence[float] = SHARES) -> Paths:
        """Return means, percentiles and inequality of the living by age.

        The distribution of the cohort is computed from age to age with the policy and the Markov chain; there is no
        sampling error.

        Parameters
        ----------
        shares : sequence of float
            Percentiles to compute, from 0 to 1; 0.5 is the median.

        Returns
        -------
        Paths

        Raises
        ------
        ProblemError
            A number in ``shares`` is not from 0 to 1.
        """
        wanted = table("shares", shares, 1)
        for share in wanted.tolist():
            if not 0 <= share <= 1:
                raise ProblemError(f"shares must be from 0 to 1, not {share:.6g}")
        shape = self.policy.shape
        assets = np.broadcast_to(self.assets[:, None], shape)
        tables = {
            "income": np.broadcast_to(self.income[:, None, :], shape),
            "consumption": self.consumption,
            "assets": assets,
            "saving": self.next_assets - assets,
        }
        people = f"{self.model.first} to {self.model.last}, {self.model.grid:,} grid points"
        title = f"Paths of a cohort, ages {people}{'' if self.success else f' ({self.status})'}"
        return summary(self.ages, self.distribution, tables, wanted, title)

    @property
    def at_limit(self) -> Array:
        """Share of the living who choose zero assets, by age, ``(T,)``."""
        return np.asarray((self.distribution * (self.policy == 0)).sum(axis=(1, 2)) / self.alive)

    @property
    def at_top(self) -> float:
        """Share of all years of life in which the highest assets are chosen; if it is not small, raise ``high``."""
        highest = self.policy == self.model.grid - 1
        return float((self.distribution * highest).sum() / self.distribution.sum())

    @property
    def _flaw(self) -> str:
        if self.at_top <= GRID_END_SHARE:
            return ""
        return (
            f"In {self.at_top:.2%} of all years of life the highest assets, {self.model.high:g}, are chosen, and "
            f"at most {GRID_END_SHARE:.2%} are allowed: raise high."
        )

    def _title(self) -> str:
        model = self.model
        size = f"{model.grid:,} grid points x {model.ages} ages x {self.policy.shape[2]} states"
        return f"A cohort from age {model.first} to {model.last}, {size}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        return [self._bound(), *(self._lives() if self.solution.success else []), *self._spent()]

    def _lives(self) -> list[tuple[str, str]]:
        """Return the rows of the report on the cohort."""
        paths, model = self.paths(), self.model
        income, consumption, assets = (paths.mean[name] for name in ("income", "consumption", "assets"))
        work = model.working
        years = float((self.alive * self.ages).sum() / self.alive.sum())
        bound = float(self.at_limit @ self.alive / self.alive.sum())
        return [
            ("income", f"highest at {self.ages[income[:work].argmax()]}, mean {income[:work].max():.2f}; at the last "
                       f"age of work, {model.retirement}, {income[work - 1]:.2f}"),
            ("consumption", f"highest at {self.ages[consumption.argmax()]}, mean {consumption.max():.2f}"),
            ("assets", f"highest at {self.ages[assets.argmax()]}, mean {assets.max():.2f}, "
                       f"{assets.max() / income[:work].mean():.2f} years of mean income of work"),
            ("bequests", f"mean {self.mean_bequest:.2f} of the whole cohort"),
            ("constraint", f"binds in {bound:.1%} of all years of life; mean age {years:.1f}"),
            ("top of grid", f"chosen in a share of {self.at_top:.2g} of these years (at most {GRID_END_SHARE:g})"),
        ]  # fmt: skip
