"""The economy of Hopenhayn and Rogerson (1993): firms with firing costs, entry and exit, and the search for a price."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scipy.optimize import brentq

from beltline.host.models.base import Model, placed
from beltline.host.models.hopenhayn_rogerson.calibration import Calibration
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy, Step, share
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress
from beltline.host.results.outcome import Outcome
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.sim.progress import reporting

PRICE_TOLERANCE = 1e-11
"""Accuracy of the price."""

WIDTH = 0.05
"""Width of the first interval of prices that is tried; each further interval is twice as wide."""


class _Unsolved(Exception):
    """A firm's problem is not solved, and the search ends with this economy."""

    def __init__(self, economy: FirmEconomy) -> None:
        self.economy = economy


class Search:
    """A firm's problem at one price after the other, each solved from the values of the last."""

    def __init__(self, model: Calibration, options: dict[str, Any], report: Callable[[str], None] | None) -> None:
        self._model, self._options, self._report = model, options, report
        self._steps: tuple[Step, ...] = ()
        self._start: Array | None = None

    def equilibrium(self) -> FirmEconomy:
        """Determine the costs by the economy without firing costs, at price 1; then find the price of this one."""
        unsolved = self._at(replace(self._model, tau=0.0), 1.0, math.nan, math.nan)
        free = replace(unsolved, entry_cost=unsolved.entry_value)
        # At price 1 households consume 1 / A.
        free = replace(free, disutility=share(free.employment_each, self._model.employment * free.consumption_each))
        if self._model.tau == 0.0:
            return free
        if free.status in (Outcome.FIRM, Outcome.DISTRIBUTION, Outcome.MARKET):
            return replace(unsolved, model=self._model)
        try:
            return self._priced(free.entry_cost, free.disutility)
        except _Unsolved as ended:
            return ended.economy

    def _priced(self, entry_cost: float, disutility: float) -> FirmEconomy:
        gaps: dict[float, float] = {}
        # On fine grids an economy takes hundreds of megabytes, so only the last one stays in memory.
        last: FirmEconomy | None = None

        def solved(price: float) -> FirmEconomy:
            nonlocal last
            if last is None or last.price != price:
                last = None
                last = self._at(self._model, price, entry_cost, disutility)
            if not last.solution.success:
                raise _Unsolved(last)
            return last

        def gap(price: float) -> float:
            """Return the value of entry less its cost, in units of the good; it increases with the price."""
            # The root finder evaluates the ends of the interval again.
            if price not in gaps:
                gaps[price] = solved(price).entry_value / price - entry_cost
            return gaps[price]

        low, width = 1.0, WIDTH
        while gap(low + width) < 0.0:
            low, width = low + width, 2.0 * width
        # With a very small firing cost the value of entry may not change.
        price = low if gap(low) >= 0.0 else float(brentq(gap, low, low + width, xtol=PRICE_TOLERANCE, rtol=1e-15))
        return solved(price)

    def _at(self, model: Calibration, price: float, entry_cost: float, disutility: float) -> FirmEconomy:
        """Solve a firm's problem; the next solve starts from its values."""
        where = f"step {len(self._steps) + 1}, price {price:.6f}"
        begin, report_line = time.perf_counter(), self._report
        progress: Any = False if report_line is None else lambda text: report_line(f"{where}: {text}")
        solution: Any = solve(model.problem(price, self._start), progress=progress, **self._options)
        if solution.success:
            self._start = solution.tables.value
        economy = FirmEconomy(model, price, entry_cost, disutility, solution, ())
        step = Step(model.tau, price, economy.entry_value, solution.sweeps, time.perf_counter() - begin)
        self._steps = (*self._steps, step)
        return replace(economy, steps=self._steps)


@dataclass(frozen=True)
class HopenhaynRogerson(Calibration, Model):
    """The economy of Hopenhayn and Rogerson (1993): firms that pay firing costs, enter and exit.

    A firm with ``n`` workers in the last period and productivity ``z`` chooses its workers ``n'``. If it decides on
    exit before it sees the next productivity, it solves::

        V(n, z) = max over n' of  p (z n'**alpha - fixed_cost) - n' - tau max(0, n - n')
                                  +  beta max(E[V(n', z') | z], -tau n')
        ln z' = drift + rho ln z + e

    where ``p`` is the price of the good and the wage is 1. Productivity is discretised by :func:`beltline.tauchen`.
    Entrants pay a cost, draw ``z``, and start without workers. In equilibrium the value of entry equals its cost.
    Households have utility ``ln c - A N``, own the firms, and receive the firing costs. The cost of entry and ``A`` are
    chosen such that without firing costs the price is 1 and employment is ``employment``.

    ``bl.solve(bl.hopenhayn_rogerson(...))`` returns a :class:`~beltline.FirmEconomy`. A period is five years.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Hopenhayn and Rogerson (1993), "Job turnover and policy evaluation: a general equilibrium analysis", Journal of
    Political Economy 101(5), 915-938.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.hopenhayn_rogerson(tau=0.1, grid=60, states=8), progress=False)
    >>> bool(economy.price > 1)
    True
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(FirmEconomy.figures)
    finds_prices: ClassVar[bool] = True

    def solve(
        self,
        tol: float = 1e-8,
        max_sweeps: int = 10_000,
        device: Any = UNNAMED,
        progress: Any = None,
        **more: Any,
    ) -> FirmEconomy:
        """Find the price at which the value of entry equals its cost.

        The economy without firing costs is solved first, at price 1; it determines the cost of entry and the disutility
        of labour. Then a firm's problem is solved at one price after the other, each from the values of the last. The
        value of entry, in units of the good, increases with the price, so that the equilibrium price is unique.

        Parameters
        ----------
        tol, max_sweeps
            For each firm's problem, as in :func:`beltline.solve`; values are in units of the wage.
        device : str, Session or Device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which takes the processor. Or a device of the accelerator,
            which must be a general sweep engine. Without ``lanes=`` the devices ``"emulator"`` and ``"rtl"`` are built
            so.
        progress, **more
            As :func:`beltline.solve` has them for a problem of the general form, except ``update``.

        Returns
        -------
        FirmEconomy
            If the economy is not solved, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        device, more, _ = placed("an economy with firing costs", device, self.grid, more)
        if "update" in more:
            raise ProblemError(
                "update must not be given: the price is set by the value of entry, which equals its cost"
            )
        check_progress(progress)
        with reporting(progress) as report:
            options = {"tol": tol, "max_sweeps": max_sweeps, "device": device, **more}
            return Search(self, options, report).equilibrium()


hopenhayn_rogerson = HopenhaynRogerson

read = reading(FirmEconomy, HopenhaynRogerson)
