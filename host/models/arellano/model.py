"""Arellano's economy: a government that may default, and lenders who price that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.host.models.arellano.calibration import Calibration
from beltline.host.models.arellano.plot import KINDS
from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.models.base import Model
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.problem.problem import Problem
from beltline.host.results.general_result import GeneralResult
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.run import timed
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import check_device
from beltline.host.solver.verify_general import measured

STARTS = {"cpu": "coarse", "gpu": "given"}
"""What a solve begins from, by device."""

COARSEST = 15
"""Fewest bonds of a grid that a finer one begins from."""

COARSE_TOL = 1e-2
"""Of solves on coarser grids: what they are for is where default begins, and prices."""


@dataclass(frozen=True)
class Arellano(Calibration, Model):
    """The economy of Arellano (2008); made by :func:`arellano`, which checks the parameters and says what they are."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    def solve(
        self,
        tol: float = 1e-8,
        max_sweeps: int = 10_000,
        device: str = UNNAMED,
        progress: Any = None,
        start: str | None = None,
        verify: bool = True,
        **more: Any,
    ) -> DefaultEconomy:
        """Find values and prices together: every sweep is exact, given the prices of the last default set.

        That is no contraction and need not converge. Residual and error bound are given the prices that are returned.

        Parameters
        ----------
        tol
            The solve ends when the largest change of the values (utility) and that of the prices (units of the good)
            in a sweep are both below it.
        max_sweeps
        device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which is the processor.
        start
            ``"coarse"``: values and prices of the same economy with a quarter of the bonds, between which they are
            linear, and so on down to :data:`COARSEST`; by default on ``"cpu"``. ``"given"``: zeros, and the price of a
            safe bond; by default on ``"gpu"``, and also where the former does not converge.
        verify
            Whether to prove the result by a second search, at the prices of the last sweep, and to measure it at those
            that are returned.
        progress, **more
            As of :func:`beltline.host.solver.solve.solve` for a problem of the general form, but ``update``.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`. Values or prices that do not converge are no error:
            ``success`` is false and ``message`` says why.
        """
        device = check_device("an economy with default", device)
        if "update" in more:
            raise ProblemError("update must not be given: prices of bonds are those at which lenders break even")
        start = STARTS[device] if start is None else start
        if start not in STARTS.values():
            raise ProblemError(f"start must be {' or '.join(map(repr, STARTS.values()))}, not {shown(start)}")
        options = {"max_sweeps": max_sweeps, "device": device, "progress": progress, **more}
        return DefaultEconomy(self, self._at_last_prices(self._solved(tol, start == "coarse", verify, options)))

    def _solved(self, tol: float, coarse: bool, verify: bool, options: dict[str, Any]) -> GeneralResult:
        """The result, with the problem that it began from; ``coarse`` of :data:`STARTS`."""
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

    def _at_last_prices(self, found: GeneralResult) -> GeneralResult:
        """The result with the problem at the prices that it has, for which it is measured."""
        result = replace(found, problem=self.problem(found.prices))
        if not result.verified or found.price_change == 0.0:
            return result
        timing = dict(found.timing)
        with timed(timing, "verify"):
            quality = measured(result.problem, result.problem.form, result, found.residual)
        return replace(result, residual=quality.residual, error_bound=quality.error_bound, timing=timing)

    def _coarser(self) -> Arellano | None:
        """The same economy with a quarter of the bonds; ``None`` where they would be few."""
        bonds = self.bonds // 4 | 1
        return replace(self, bonds=bonds) if bonds >= COARSEST else None

    def _begun(self, coarser: Arellano, before: GeneralResult) -> Problem:
        """The problem at the prices of a coarser economy, beginning from its values; linear between its bonds."""

        def between(table: Array) -> Array:
            return np.stack([np.interp(self.grid, coarser.grid, column) for column in table.T], axis=1)

        assert before.prices is not None
        return self.problem(between(before.prices), np.stack([between(v) for v in before.value]))


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
    """Return the economy of Arellano (2008): a government that borrows abroad and may default, by the quarter.

    In good standing, with bonds ``B`` and income ``y``, the government repays, ``c = y + B - q(B', y) B'``, or
    defaults: then it consumes ``min(y, share E y)`` and is excluded, and every quarter from the next on is back in good
    standing with probability ``reentry`` and no debt. ``ln y' = rho ln y + e``, ``e ~ N(0, sigma**2)``, as a
    :func:`~beltline.host.problem.markov.tauchen` chain. Lenders break even: ``q(B', y) = (1 - P(default | B', y)) /
    (1 + interest)``.

    ``bl.solve(bl.arellano(...))`` returns a :class:`~beltline.DefaultEconomy`. Defaults are the paper's calibration to
    Argentina, by the quarter; the grids are ours.

    Parameters
    ----------
    bonds
        Number of grid points of ``B``, odd, so that 0 is one of them, and from 3; debt is below 0.
    incomes
        Number of income states, 1 to ``CHAIN_LIMIT``.
    beta
        Discount factor of a quarter, above 0 and below 1.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    interest
        That lenders earn on a safe bond in a quarter, above -1.
    reentry
        Probability of a return to good standing in a quarter, from 0 to 1.
    rho
        Persistence of log income, above -1 and below 1.
    sigma
        Standard deviation of its shock, above 0.
    share
        Of mean income, more than which is lost in default; above 0.
    width
        Half-width of the grid of log income in unconditional standard deviations, above 0.
    limit
        Bonds go from ``-limit`` to ``limit`` in even steps, units of the good; above 0.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> economy = bl.solve(bl.arellano(bonds=101, incomes=11))  # doctest: +SKIP
    >>> economy.defaults.mean(), economy.moments()  # doctest: +SKIP

    Sources
    -------
    Arellano (2008), "Default risk and income fluctuations in emerging economies", American Economic Review 98(3),
    690-712.
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
    model.problem()
    return model
