"""The economy of Arellano (2008): a government that may default on its debt, and lenders who price the risk."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.models.arellano.business_cycle import PATHS, BusinessCycle, business_cycle
from beltline.host.models.arellano.calibration import ALTERNATIVES, Calibration
from beltline.host.models.base import Model, placed
from beltline.host.models.model_result import SolutionResult, reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, word
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.certificate import certified
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve

QUARTERS = 4
"""Number of quarters in a year."""

REPAY, DEFAULT, EXCLUDED = range(len(ALTERNATIVES))


@dataclass(frozen=True, eq=False, repr=False)
class DefaultEconomy(SolutionResult):
    """The economy of Arellano (2008) at the bond prices at which lenders break even.

    Arrays have ``N_B`` rows and ``N_y`` columns and are float64 unless noted. Rows are the bonds ``B`` of this quarter;
    for prices, spreads and default probabilities they are the bonds ``B'`` of the next. Columns are today's income.

    ``model`` is the :class:`~beltline.host.models.arellano.model.Arellano` that was solved, and ``solution`` the
    :class:`~beltline.Result` of its problem: values and choices of the government's problem at the last prices.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.arellano(bonds=61, incomes=7), progress=False)
    >>> economy.prices.shape, economy.default_value.shape
    ((61, 7), (7,))
    """

    archive_kind: ClassVar[str] = "arellano"
    figures: ClassVar[dict[str, str]] = {
        "default": "default set by bonds and income",
        "prices": "bond prices by bonds, at a low and at a high income",
        "policy": "chosen bonds at the same incomes",
    }

    model: Calibration
    solution: Result

    @property
    def bonds(self) -> Array:
        """The grid of bonds, ``(N_B,)``, in units of the good; debt is negative."""
        return self.model.grid

    @property
    def income(self) -> Array:
        """Income by state, ``(N_y,)``, in units of the good per quarter."""
        return self.model.chain[0]

    @property
    def prices(self) -> Array:
        """Price ``q(B', y)``, ``(N_B, N_y)``, in units of the good, of a bond that pays 1 in the next quarter."""
        found = self.solution.prices
        return np.full((self.model.bonds, self.model.incomes), np.nan) if found is None else found

    @property
    def default_probability(self) -> Array:
        """Probability of a default in the next quarter, given bonds ``B'`` and today's income, ``(N_B, N_y)``."""
        return 1.0 - self.prices * (1.0 + self.model.interest)

    @property
    def spreads(self) -> Array:
        """Interest rate on ``B'`` less that on a safe bond, ``(N_B, N_y)``, per year: ``q**-4 - (1 + r)**4``.

        0.05 is 5 percentage points; it is infinite where the price is 0.
        """
        with np.errstate(divide="ignore"):
            return self.prices ** -float(QUARTERS) - (1.0 + self.model.interest) ** QUARTERS

    @property
    def value(self) -> Array:
        """Value of good standing, the larger of repaying and defaulting, ``(N_B, N_y)``, in units of utility."""
        return self.solution.tables.value[0]

    @property
    def repay_value(self) -> Array:
        """Value of repaying, ``(N_B, N_y)``, in units of utility; ``-inf`` where the government cannot repay."""
        return self.solution.tables.values[REPAY]

    @property
    def default_value(self) -> Array:
        """Value of defaulting, ``(N_y,)``, in units of utility; it does not depend on the debt."""
        return self.solution.tables.values[DEFAULT][self.model.zero]

    @property
    def defaults(self) -> NDArray[np.bool_]:
        """Default set, ``(N_B, N_y)``: where defaulting is better than repaying."""
        return self.solution.taken(ALTERNATIVES[DEFAULT])

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the chosen ``B'`` where debt is repaid, ``(N_B, N_y)`` int32; -1 in the default set."""
        return np.where(self.defaults, np.int32(-1), self.solution.tables.policy[REPAY])

    @property
    def policy_values(self) -> Array:
        """Chosen ``B'`` where debt is repaid, ``(N_B, N_y)``, in units of the good; nan in the default set."""
        return np.where(self.policy >= 0, self.bonds[self.policy], np.nan)

    @property
    def consumption(self) -> Array:
        """Consumption of a government in good standing, ``(N_B, N_y)``, in units of the good."""
        cost = np.take_along_axis(self.model.costs(self.prices), np.maximum(self.policy, 0), axis=0)
        return np.where(self.defaults, self.model.default_income, self.income + self.bonds[:, None] - cost)

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """States of good standing, ``(N_B, N_y)``, that a government which starts without debt can reach."""
        policy, found = self.policy, np.zeros(self.defaults.shape, bool)
        rows = np.zeros(self.model.bonds, bool)
        rows[self.model.zero] = True
        while not found[rows].all():
            found[rows] = True
            chosen = policy[rows]
            rows[chosen[chosen >= 0]] = True
        return found

    @property
    def at_ends(self) -> bool:
        """Whether a government that starts without debt can reach an end of the grid, which may then be too short."""
        chosen = self.policy[self.reached]
        return bool(((chosen == 0) | (chosen == self.model.bonds - 1)).any())

    @property
    def _flaw(self) -> str:
        if not self.at_ends:
            return ""
        return (
            f"A government that starts without debt chooses an end of the grid of bonds, {self.model.limit:g} on "
            "either side, and might choose bonds beyond it: raise limit."
        )

    @property
    def message(self) -> str:
        """The status in one or two sentences and, after a failure, what to do."""
        found = self.solution
        if not found.success:
            if found.status != Outcome.LIMIT:
                return found.message
            if found.price_change < found.tol:
                return f"{found.message} Raise max_sweeps: the prices have converged, so the values will."
            return f"{found.message} Values and prices that change together need not converge."
        if self._flaw:
            return self._flaw
        moved = "left values that one more changes by" if found.verified else "changed values by"
        text = (
            f"The last of {found.sweeps:,} sweeps {moved} {found.residual:.3g} at most, and prices changed by "
            f"{found.price_change:.3g}; the error bound is for these prices."
        )
        least = self.model.zero - 1
        if self.defaults[least].all():
            text += (
                f" There is no borrowing, as even the smallest debt of the grid, {-self.bonds[least]:.3g}, is not "
                "repaid at any income. If this debt is large, raise bonds or lower limit."
            )
        return text

    def moments(
        self,
        paths: int = PATHS,
        periods: int = 10_000,
        burn_in: int = 1_000,
        seed: int = 0,
        before_default: int | None = None,
    ) -> BusinessCycle:
        """Simulate the economy and return business cycle moments with standard errors.

        Each path starts in good standing without debt, with income from its stationary distribution. Moments are taken
        over the quarters of all paths in which debt is repaid; the default rate is over all quarters.
        :class:`~beltline.host.models.arellano.business_cycle.BusinessCycle` defines the moments.

        Parameters
        ----------
        paths : int
            Number of independent paths, at least 2; standard errors come from the jackknife over paths.
        periods : int
            Number of quarters of each path, at least 2.
        burn_in : int
            Number of quarters to simulate before these and drop.
        seed : int
            Seed of NumPy's random generator.
        before_default : int, optional
            Use only this number of quarters before each default, and only defaults before which there are at least as
            many quarters of good standing, as in data samples that end with a default. By default all quarters.

        Returns
        -------
        BusinessCycle

        Raises
        ------
        ProblemError
            An argument is out of range.
        """
        if not self.success:
            warnings.warn(f"moments of a result that is not solved: {self.status}", stacklevel=2)
        return business_cycle(self, paths, periods, burn_in, seed, before_default)

    def _title(self) -> str:
        size = f"{self.model.bonds:,} bonds x {self.model.incomes:,} incomes"
        return f"Arellano's economy, {size}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        found = self.solution
        bound = f"max |V - V*| <= {found.error_bound:.3g} at "
        bound += f"{'these prices' if found.verified else 'the prices of the last sweep'} (including rounding errors)"
        if not math.isfinite(found.error_bound):
            bound = self._bound()[1]
        return [
            ("residual", f"max |TV - V| = {found.residual:.3g} ({found.measured_by})"),
            ("prices", f"last change {found.price_change:.3g} (tolerance {found.tol:g})"),
            ("error bound", bound),
            ("default set", f"{self.defaults.mean():.1%} of the states of good standing, "
                            f"{self.defaults[self.reached].mean():.1%} of those that can be reached from no debt"),
            ("largest debt", self._largest()),
            *self._spent(),
        ]  # fmt: skip

    def _largest(self) -> str:
        """Return the largest debt of the states that can be reached, as text for the report."""
        debt = -float(self.bonds[self.reached.any(axis=1)].min())
        return f"{debt:.4g}, which is {debt / self.model.mean_income:.1%} of mean quarterly income"

    def _check_file(self) -> None:
        super()._check_file()
        shape = (self.model.bonds, self.model.incomes)
        if self.prices.shape != shape:
            raise ProblemError(f"array 'prices' has shape {self.prices.shape}, not {shape}")


STARTS = {"cpu": "coarse", "gpu": "given"}
"""Default of ``start``, by device; on devices of the accelerator ``"coarse"``."""

COARSER, COARSEST = 4, 15
"""Ratio of the numbers of bonds of two grids, and the smallest number of bonds of a coarse one."""

COARSE_TOL, COARSE_SWEEPS = 1e-2, 12
"""Tolerance of solves on coarse grids, which serve to locate the default set, and their sweeps in double precision."""


@dataclass(frozen=True)
class Arellano(Calibration, Model):
    """The economy of Arellano (2008): a government borrows abroad and may default; a period is a quarter.

    A government in good standing with bonds ``B`` (debt is negative) and income ``y`` repays or defaults::

        V(B, y)  = max(V_r(B, y), V_d(y))
        V_r(B, y) = max over B' of  U(y + B - q(B', y) B')  +  beta E[V(B', y') | y]
        V_d(y)   = U(min(y, share E[y]))  +  beta E[reentry V(0, y') + (1 - reentry) V_d(y') | y]
        ln y' = rho ln y + e,   e ~ N(0, sigma**2)

    After a default it is excluded from borrowing; in every quarter after that it returns to good standing, without
    debt, with probability ``reentry``. Lenders break even: ``q(B', y) = (1 - P(default | B', y)) / (1 + interest)``.
    Income is discretised by :func:`beltline.tauchen`.

    ``bl.solve(bl.arellano(...))`` returns a :class:`~beltline.DefaultEconomy`. The default parameters are the paper's
    calibration to Argentina, except the grids.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Arellano (2008), "Default risk and income fluctuations in emerging economies", American Economic Review 98(3),
    690-712.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.arellano(bonds=61, incomes=7), progress=False)
    >>> economy.success, bool(0 < economy.defaults.mean() < 1)
    (True, True)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(DefaultEconomy.figures)
    finds_prices: ClassVar[bool] = True

    def solve(
        self,
        tol: float = 1e-8,
        max_sweeps: int = 10_000,
        device: Any = UNNAMED,
        progress: Any = None,
        start: str | None = None,
        verify: bool = True,
        **more: Any,
    ) -> DefaultEconomy:
        """Find values and bond prices by iterating on both; a sweep is exact, given prices from the last default set.

        This iteration is not a contraction and need not converge. ``residual`` and ``error_bound`` of the solution are
        for the prices that are returned.

        Parameters
        ----------
        tol : float
            The iteration ends when the largest change of the values (in utility) and of the prices (in units of the
            good) in a sweep are both below it.
        max_sweeps : int
            Largest number of sweeps.
        device : str, Session or Device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which takes the processor. Or a device of the accelerator,
            which must be a general sweep engine: prices move after every ``update_every`` sweeps (10 by default),
            while values stay on the machine. Without ``lanes=`` the devices ``"emulator"`` and ``"rtl"`` are built so.
        start : str, optional
            ``"coarse"``, the default except on ``"gpu"``: start from the interpolated values of the same economy with a
            quarter of the bonds, which starts in the same way, down to :data:`COARSEST` bonds.
            ``"given"``, the default on ``"gpu"`` and used if ``"coarse"`` does not converge: start from values of 0 and
            the price of a safe bond.
        verify : bool
            Whether to prove every choice by a second search at the prices of the last sweep, and to measure the
            residual at the prices that are returned.
        progress, **more
            As :func:`beltline.solve` has them for a problem of the general form, except ``update``.

        Returns
        -------
        DefaultEconomy
            If values or prices do not converge, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        device, more, machine = placed("an economy with default", device, self.bonds, more)
        if "update" in more:
            raise ProblemError("update must not be given: bond prices are those at which lenders break even")
        start = ("coarse" if machine else STARTS[device]) if start is None else start
        word("start", start, sorted(set(STARTS.values())))
        options = {"max_sweeps": max_sweeps, "device": device, "progress": progress, "verify": verify, **more}
        found = self._solved(tol, start == "coarse", {"max_sweeps": COARSE_SWEEPS} if not machine else {}, options)
        return DefaultEconomy(self, self._at_last_prices(found))

    def _solved(self, tol: float, coarse: bool, limit: dict[str, int], options: dict[str, Any]) -> Result:
        """Return the result with the problem that it started from; ``limit`` is for coarser grids."""
        found: Any = None
        more = {"tol": tol, "update": self.update, **options}
        spent: dict[str, float] = {}
        with timed(spent, "coarser grids"):
            begun = self._begun(limit, options) if coarse else None
        if begun is not None:
            found = solve(begun, **more)
            found = replace(found, timing=spent | found.timing)
        if found is None or not found.success:
            plain: Any = solve(self.problem(), **more)
            found = plain if found is None or plain.success else found
        return found

    def _at_last_prices(self, found: Result) -> Result:
        """Return the result with the problem at its last prices, and residual and bound measured for this problem."""
        if found.price_change == 0.0:
            return found
        result = replace(found, problem=self.problem(found.prices))
        if not result.verified:
            return result
        timing = dict(found.timing)
        with timed(timing, "verify"):
            quality = certified(result.problem, result.tables, found.residual)
        return replace(result, residual=quality.residual, error_bound=quality.error_bound, timing=timing)

    def _begun(self, limit: dict[str, int], options: dict[str, Any]) -> Problem | None:
        """Return the problem with the interpolated values of a coarser economy as its start, at the prices that follow.

        The interpolated default set has hardly a wrong state, while prices jump where it ends. ``None`` if a coarser
        economy has too few bonds, or no value.
        """
        bonds = self.bonds // COARSER | 1
        if bonds < COARSEST:
            return None
        coarser = replace(self, bonds=bonds)
        found = coarser._solved(COARSE_TOL, True, limit, options | {"verify": False} | limit).tables
        if not np.isfinite(found.value).all():
            return None
        share, below = np.modf(np.interp(self.grid, coarser.grid, np.arange(coarser.bonds)))
        low, share = below.astype(int), share[:, None]
        high = np.minimum(low + 1, coarser.bonds - 1)

        def between(table: Array) -> Array:
            mean: Array = (1.0 - share) * table[low] + share * table[high]
            return mean

        # Where the government cannot repay, any number below 0 will do.
        repay, default, _ = found.values
        prices = self.prices(between(np.maximum(repay - default, -1.0)) < 0.0)
        return self.problem(prices, np.stack([between(v) for v in found.value]))


arellano = Arellano

read = reading(DefaultEconomy, Arellano)
