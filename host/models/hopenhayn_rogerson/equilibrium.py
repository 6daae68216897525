"""The search for the price at which the value of entry equals its cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scipy.optimize import brentq

from beltline.host.models.hopenhayn_rogerson.calibration import Calibration
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy, Step, share
from beltline.host.problem.arrays import Array
from beltline.host.results.outcome import Outcome
from beltline.host.solver.solve import solve

PRICE_TOLERANCE = 1e-11
"""Accuracy of the price."""

WIDTH = 0.05
"""Width of the first interval of prices that is tried; each further interval is twice as wide."""


class _Unsolved(Exception):
    """A firm's problem is not solved, and the search ends with this economy."""

    def __init__(self, economy: FirmEconomy) -> None:
        self.economy = economy


class Search:
    """A firm's problem at one price after the other, each solved from the values of the last.

    Parameters
    ----------
    model
        Calibration of the economy.
    options
        Arguments of :func:`beltline.solve`.
    report
        A function that is called with lines on the progress, or None.
    """

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
