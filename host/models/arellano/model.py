"""The economy of Arellano (2008): a government that may default on its debt, and lenders who price the risk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.models.arellano.calibration import Calibration
from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.models.base import Model
from beltline.host.models.machines import placed
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.verify import measured

STARTS = {"cpu": "coarse", "gpu": "given"}
"""Default of ``start``, by device; on devices of the accelerator ``"coarse"``."""

STATES_AN_INCOME = 2
"""States of a machine for each income: repayment, and default, which is the same as exclusion after it."""

COARSEST = 15
"""Smallest number of bonds of a coarse grid."""

COARSE_TOL = 1e-2
"""Tolerance of solves on coarse grids, which serve to locate the default set and the prices."""


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
            whose sweep engine must take alternatives: prices move after every ``update_every`` sweeps (10 by default),
            while values stay on the machine. Without ``lanes=`` the devices ``"emulator"`` and ``"rtl"`` are built so.
        start : str, optional
            ``"coarse"``, the default except on ``"gpu"``: start from the interpolated values and prices of the same
            economy with a quarter of the bonds, which starts in the same way, down to :data:`COARSEST` bonds.
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
        device, more, machine = placed(
            "an economy with default", device, self.bonds, STATES_AN_INCOME * self.incomes, more
        )
        if "update" in more:
            raise ProblemError("update must not be given: bond prices are those at which lenders break even")
        start = ("coarse" if machine else STARTS[device]) if start is None else start
        if start not in STARTS.values():
            raise ProblemError(f"start must be {' or '.join(map(repr, STARTS.values()))}, not {shown(start)}")
        options = {"max_sweeps": max_sweeps, "device": device, "progress": progress, **more}
        return DefaultEconomy(self, self._at_last_prices(self._solved(tol, start == "coarse", verify, options)))

    def _solved(self, tol: float, coarse: bool, verify: bool, options: dict[str, Any]) -> Result:
        """Return the result with the problem that it started from; ``coarse`` is that of :data:`STARTS`."""
        found: Any = None
        more = {"tol": tol, "verify": verify, "update": self.update, **options}
        coarser = self._coarser() if coarse else None
        if coarser is not None:
            before = coarser._solved(max(tol, COARSE_TOL), True, False, options)
            if before.success:
                found = solve(self._begun(coarser, before), **more)
                spent = sum(before.timing.values())
                found = replace(found, timing={"coarser grids": spent, **found.timing})
        if found is None or not found.success:
            plain: Any = solve(self.problem(), **more)
            found = plain if found is None or plain.success else found
        return found

    def _at_last_prices(self, found: Result) -> Result:
        """Return the result with the problem at its last prices, and residual and bound measured for this problem."""
        result = replace(found, problem=self.problem(found.prices))
        if not result.verified or found.price_change == 0.0:
            return result
        timing = dict(found.timing)
        with timed(timing, "verify"):
            quality = measured(result.problem, result.tables, found.residual)
        return replace(result, residual=quality.residual, error_bound=quality.error_bound, timing=timing)

    def _coarser(self) -> Arellano | None:
        """Return the same economy with a quarter of the bonds, or None if these were too few."""
        bonds = self.bonds // 4 | 1
        return replace(self, bonds=bonds) if bonds >= COARSEST else None

    def _begun(self, coarser: Arellano, before: Result) -> Problem:
        """Return the problem with the interpolated prices and values of a coarser economy as its start."""

        def between(table: Array) -> Array:
            return np.stack([np.interp(self.grid, coarser.grid, column) for column in table.T], axis=1)

        assert before.prices is not None
        return self.problem(between(before.prices), np.stack([between(v) for v in before.tables.value]))


arellano = Arellano

read = reading(DefaultEconomy, Arellano)
