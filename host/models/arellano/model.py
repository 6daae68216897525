"""The economy of Arellano (2008): a government that may default on its debt, and lenders who price the risk."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.models.arellano.calibration import Calibration
from beltline.host.models.arellano.plot import KINDS
from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.models.base import Model
from beltline.host.models.machines import on_machine
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import check_device
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
    """The economy of Arellano (2008). :func:`beltline.arellano` makes it, checks its parameters and explains them."""

    kinds: ClassVar[tuple[str, ...]] = KINDS
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
        machine = on_machine(device, self.bonds, STATES_AN_INCOME * self.incomes, more)
        if machine is None:
            device = check_device("an economy with default", device)
        more = more if machine is None else machine
        if "update" in more:
            raise ProblemError("update must not be given: bond prices are those at which lenders break even")
        start = ("coarse" if machine is not None else STARTS[device]) if start is None else start
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


def arellano(
    bonds: int = 251,
    incomes: int = 51,
    beta: float = 0.953,
    eta: float = 2.0,
    interest: float = 0.017,
    reentry: float = 0.282,
    rho: float = 0.945,
    sigma: float = 0.025,
    share: float = 0.969,
    width: float = 3.0,
    limit: float = 0.45,
) -> Arellano:
    """Set up the economy of Arellano (2008): a government borrows abroad and may default; a period is a quarter.

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

    Parameters
    ----------
    bonds : int
        Number of grid points of ``B``, from 3; odd, so that 0 is one of them.
    incomes : int
        Number of income states, 1 to ``CHAIN_LIMIT``.
    beta : float
        Discount factor of a quarter, above 0 and below 1.
    eta : float
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest : float
        Interest rate of a safe bond in a quarter, above -1.
    reentry : float
        Probability of a return to good standing in a quarter, from 0 to 1.
    rho : float
        Autocorrelation of log income, above -1 and below 1.
    sigma : float
        Standard deviation of its shock, above 0.
    share : float
        In default, income above this share of mean income is lost; above 0.
    width : float
        Half-width of the grid of log income in unconditional standard deviations, above 0.
    limit : float
        The grid of bonds is uniform from ``-limit`` to ``limit``, in units of the good; above 0.

    Returns
    -------
    Arellano
        A model for :func:`beltline.solve`.

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
    model = Arellano(
        bonds=whole(
            "bonds", bonds, f"an odd number from 3 to {GRID_SIZE_LIMIT - 1}, so that 0 is one of them",
            lambda v: 3 <= v < GRID_SIZE_LIMIT and v % 2 == 1,
        ),
        incomes=chain_size("incomes", incomes),
        beta=parameter("beta", beta),
        eta=parameter("eta", eta),
        interest=real("interest", interest, "a number above -1", lambda v: -1 < v < math.inf),
        reentry=real("reentry", reentry, "a number from 0 to 1", lambda v: 0 <= v <= 1),
        rho=parameter("rho", rho),
        sigma=parameter("sigma", sigma),
        share=real("share", share, "a number above 0", lambda v: 0 < v < math.inf),
        width=parameter("width", width),
        limit=real("limit", limit, "a number above 0", lambda v: 0 < v < math.inf),
    )  # fmt: skip
    check_tables(24 * model.bonds * model.incomes, bonds=model.bonds, incomes=model.incomes)
    model.problem()
    return model
