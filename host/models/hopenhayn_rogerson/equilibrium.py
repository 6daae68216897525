"""The search for the price at which entry is worth its cost."""

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
"""How closely the price is found."""

WIDTH = 0.05
"""Of the first interval of prices that is tried; each further one is twice as wide."""


class _Unsolved(Exception):
    """A firm's problem is not solved, and the search ends with this economy."""

    def __init__(self, economy: FirmEconomy) -> None:
        self.economy = economy


class Search:
    """Firms' problems at one price after the other, each from the values of the last.

    Parameters
    ----------
    model
    options
        Of :func:`beltline.host.solver.solve.solve`.
    report
        Called with a line now and then, or nothing.
    """

    def __init__(self, model: Calibration, options: dict[str, Any], report: Callable[[str], None] | None) -> None:
        self._model, self._options, self._report = model, options, report
        self._steps: tuple[Step, ...] = ()
        self._start: Array | None = None

    def equilibrium(self) -> FirmEconomy:
        """Set the costs by the economy without firing costs, where the price is 1, and find the price of this one."""
        unsolved = self._at(replace(self._model, tau=0.0), 1.0, math.nan, math.nan)
        free = replace(unsolved, entry_cost=unsolved.entry_value)
        # Where the price is 1, households consume 1 / A.
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
        # On fine grids an economy is hundreds of megabytes, so only the last one is held.
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
            """What an entrant is worth more than entry costs, units of the good; it rises in the price."""
            # Ends of the interval are asked for twice.
            if price not in gaps:
                gaps[price] = solved(price).entry_value / price - entry_cost
            return gaps[price]

        low, width = 1.0, WIDTH
        while gap(low + width) < 0.0:
            low, width = low + width, 2.0 * width
        # A firing cost that is next to nothing may leave the value of entry as it is.
        price = low if gap(low) >= 0.0 else float(brentq(gap, low, low + width, xtol=PRICE_TOLERANCE, rtol=1e-15))
        return solved(price)

    def _at(self, model: Calibration, price: float, entry_cost: float, disutility: float) -> FirmEconomy:
        """Solve a firm's problem; its values are what the next solve begins from."""
        where = f"step {len(self._steps) + 1}, price {price:.6f}"
        begin, tell = time.perf_counter(), self._report
        progress: Any = False if tell is None else lambda text: tell(f"{where}: {text}")
        solution: Any = solve(model.problem(price, self._start), progress=progress, **self._options)
        if solution.success:
            self._start = solution.value
        economy = FirmEconomy(model, price, entry_cost, disutility, solution, ())
        step = Step(model.tau, price, economy.entry_value, solution.sweeps, time.perf_counter() - begin)
        self._steps = (*self._steps, step)
        return replace(economy, steps=self._steps)
