"""The economy of Aiyagari (1994), and the search for the interest rate at which supply of capital equals demand."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.host.devices import REFERENCES, Device
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari.market import capital_search, clear
from beltline.host.models.aiyagari.result import Economy, Step
from beltline.host.models.base import Model
from beltline.host.models.equilibrium.households import UnsolvedError
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE, Search
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, flag
from beltline.host.problem.concavity import concave_majorant
from beltline.host.problem.model_parameters import POSITIVE
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED, check_unnamed, machine_method
from beltline.host.solver.session import Session, in_session
from beltline.host.solver.solve import ProcessorSession, named, solve
from beltline.sim.progress import reporting

VALUE_TOLERANCE = 1e-10
"""Largest tolerance of values between grid points: supply is then accurate enough to clear the market."""

_UNSOLVED = tuple(outcome.value for outcome in (Outcome.LIMIT, Outcome.SATURATED, Outcome.INFEASIBLE, Outcome.STOPPED))
"""Statuses of a household's problem after which the search for the rate is given up."""


class Market(contextlib.AbstractContextManager["Market"]):
    """The household's problem on the grid at one interest rate after the other, on one open device."""

    def __init__(
        self,
        model: Calibration,
        tol: float,
        max_sweeps: int,
        device: str | Device | Session | ProcessorSession,
        verify: bool,
        progress: Any,
        more: dict[str, Any],
    ) -> None:
        self._model, self._tol, self._max_sweeps, self._verify = model, tol, max_sweeps, verify
        self._solves: list[tuple[Result, float, tuple[str, ...]]] = []
        self._resources = contextlib.ExitStack()
        self._report = self._resources.enter_context(reporting(progress))
        method = more.pop("method", None)
        self._session: Session | None = None
        self._more: dict[str, Any] = {
            name: more.pop(name) for name in ("value_bits", "amount_bits", "timeout") if name in more
        }
        where: Any = named(device)
        if isinstance(where, str) and where == UNNAMED:
            check_unnamed("shift" if method is None else method, more)
            where = REFERENCES[0]
        if isinstance(where, str) and where in REFERENCES:
            self._device, self._more = where, self._more | {"method": method or "shift", **more}
            return
        self._method, self._start = machine_method(where, method, more)
        self._session = self._resources.enter_context(in_session(where, more, progress))

    def __exit__(self, *exception: object) -> None:
        self._resources.close()

    def _solve(self, problem: Problem, verify: bool, bent: Array | None = None) -> Result:
        """Solve on the grid; from the concave majorant of the value ``bent``, if there is one."""
        report, begin = self._report, time.perf_counter()
        where = f"step {len(self._solves) + 1}, r = {problem.parameters['interest']:.4%}"
        progress: Any = False if report is None else lambda text: report(f"{where}: {text}")
        if bent is not None:
            problem = replace(problem, start=concave_majorant(bent, problem.grid))
        if self._session is not None:
            start = "problem" if bent is not None else "last" if self._solves else self._start
            result = self._session.solve(
                problem, self._tol, self._max_sweeps, start=start, method=self._method, progress=progress,
                verify=verify, **self._more,
            )  # fmt: skip
        else:
            result = solve(
                problem, self._tol, self._max_sweeps, device=self._device, progress=progress, verify=verify,
                **self._more,
            )  # fmt: skip
        moved = self._session.moved if self._session is not None else ()
        self._solves.append((result, time.perf_counter() - begin, moved))
        if not result.sweeps or (result.policy < 0).any() or result.status in _UNSOLVED:
            raise UnsolvedError(Outcome.HOUSEHOLD, f"The problem of a household was not solved: {result.message}")
        return result

    def _value(self, kind: int, problem: Problem, last: Array | None) -> Array:
        """Return the value from which that between grid points is computed.

        A device solves the problem on the grid at every rate, and its change is added to the last value between grid
        points. A processor solves it at the first rate only.
        """
        if last is None:
            return self._solve(problem, False).value
        if self._session is None:
            return last
        before = self._solves[-1][0].value
        return last + (self._solve(problem, False).value - before)

    def clear(self) -> Economy:
        """Find the rate, and solve once more on the grid at this rate with verification."""
        model = self._model
        status, message = Outcome.SOLVED, ""
        search = capital_search([model], np.ones(1), 1.0, min(self._tol, VALUE_TOLERANCE), self._value, self._report)
        try:
            clear(search, [model])
        except UnsolvedError as ended:
            status, message = ended.status, str(ended)
        at_prices, trial = len(self._solves), search.best if search.trials else None
        if trial is not None and status != Outcome.HOUSEHOLD:
            try:
                bent = None if self._session is not None else trial.periods[0].value
                found = self._solve(trial.periods[0].problem, self._verify, bent)
                if found.status == Outcome.NOT_VERIFIED.value:
                    # The last value was not concave, so the local search may have ended at another local maximum.
                    self._solve(trial.periods[0].problem, True, found.value)
            except UnsolvedError as ended:
                status, message = ended.status, str(ended)
        household = self._solves[-1][0]
        economy = Economy(
            model=model,
            interest=float(household.problem.parameters["interest"]),
            household=household,
            distribution=np.zeros(household.value.shape) if trial is None else trial.masses[0],
            continuous_choice=None if trial is None else trial.periods[0].choice,
            success=False,
            status=status.value,
            message=message,
            steps=self._steps(search, at_prices),
        )
        if not message:
            status, message = self._verdict(economy)
            economy = replace(economy, success=status == Outcome.SOLVED, status=status.value, message=message)
        return economy

    def _steps(self, search: Search, at_prices: int) -> tuple[Step, ...]:
        """Return the steps of the search, and those that solve on the grid once more at the rate that it found."""
        model, steps = self._model, list[Step]()
        every, none = self._session is not None, (None, 0.0, ())
        for number, trial in enumerate(search.trials):
            result, spent, moved = self._solves[number] if every or not number else none
            sweeps = result.sweeps if every and result is not None else trial.sweeps
            clocks, spent = 0 if result is None else result.clocks, spent + trial.timing["values"]
            rate, supply = float(trial.prices.interest), float(trial.aggregates.assets)
            steps.append(
                Step(rate, supply, model.capital(rate), sweeps, clocks, spent, trial.timing["distributions"], moved)
            )
        supply = float(search.best.aggregates.assets) if search.trials else 0.0
        for result, spent, moved in self._solves[at_prices if steps else 0 :]:
            rate = float(result.problem.parameters["interest"])
            steps.append(Step(rate, supply, model.capital(rate), result.sweeps, result.clocks, spent, 0.0, moved))
        return tuple(steps)

    def _verdict(self, economy: Economy) -> tuple[Outcome, str]:
        """Return how the search ended, given that it found a rate, and the message."""
        model, household, last = self._model, economy.household, economy.steps[-1]
        if not household.success:
            return Outcome.HOUSEHOLD, f"The problem of the household is not solved: {household.message}"
        if economy.at_top > GRID_END_SHARE:
            return Outcome.GRID, (
                f"{economy.at_top:.2%} of households choose the highest assets, {model.high:g}, and at most "
                f"{GRID_END_SHARE:.2%} may: raise high."
            )
        if not abs(economy.excess) <= MARKET_TOLERANCE:
            return Outcome.MARKET, (
                f"The market does not clear: at r = {last.interest:.4%} the supply of capital is {last.supply:.6g} and "
                f"demand {last.demand:.6g}, an excess of {economy.excess:+.1e}, and at most {MARKET_TOLERANCE:g} is "
                f"allowed: raise grid above {model.grid:,}, or lower tol below {self._tol:g}."
            )
        return Outcome.SOLVED, (
            f"The market clears after {len(economy.steps)} steps: supply of capital {last.supply:.6g}, demand "
            f"{last.demand:.6g}."
        )


@dataclass(frozen=True)
class Aiyagari(Calibration, Model):
    """The economy of Aiyagari (1994): households save against income risk at a market-clearing interest rate.

    A household with assets ``a >= 0`` and labour ``l`` solves::

        V(a, l) = max over a' >= 0 of  U((1 + r) a + w l - a')  +  beta E[V(a', l') | l]
        ln l' = rho ln l + sigma sqrt(1 - rho**2) e,   e ~ N(0, 1)

    with CRRA utility. Labour is discretised by :func:`beltline.tauchen` and scaled to a mean of 1. Firms produce
    ``K**alpha`` per head and pay ``r = alpha K**(alpha - 1) - delta`` and ``w = (1 - alpha) K**alpha``. In equilibrium
    the mean assets of households in the stationary distribution are ``K``.

    ``bl.solve(bl.aiyagari(...))`` returns an :class:`~beltline.Economy`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.aiyagari(grid=400, states=3), progress=False)
    >>> economy.success, bool(0 < economy.interest < 1 / 0.96 - 1)
    (True, True)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(Economy.figures)
    finds_prices: ClassVar[bool] = True

    def solve(
        self,
        tol: float = 1e-10,
        max_sweeps: int = 10_000,
        device: str | Device | Session | ProcessorSession = UNNAMED,
        progress: Any = None,
        verify: bool = True,
        **more: Any,
    ) -> Economy:
        """Find the interest rate at which households supply the capital that firms demand.

        Households choose between grid points, and the distribution follows from these choices, whatever the device
        (:func:`beltline.equilibrium` explains the choices and the search). On processors the problem on the grid is
        solved at the first rate, and at the final one, where it is verified. A machine solves it at every rate, in one
        open session, so that only the table of cash on hand is written again, and the host continues from its value
        between grid points.

        Parameters
        ----------
        tol, max_sweeps, device, progress, verify
            For the household's problem on the grid, as in :func:`beltline.solve`; device ``"auto"`` takes the
            processor. Values between grid points have a tolerance of ``tol``, at most 1e-10.
        **more
            On ``"cpu"`` and ``"gpu"`` ``method`` and its options; the default is ``"shift"``, which needs fewer sweeps.
            On a machine ``value_bits``, ``amount_bits``, ``timeout`` and the options of the device; on a sweep engine
            also ``method="shift"``, whose ``start`` applies to the first household.

        Returns
        -------
        Economy
            If the market does not clear or a household's problem is not solved, ``success`` is false and ``message``
            gives the reason.

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        check_progress(progress)
        verify = flag("verify", verify)
        for name in ("checkpoint", "checkpoint_every"):
            if more.pop(name, None) is not None:
                raise ProblemError(f"{name} must be None: an economy is many solves, which have no checkpoints")
        tol = POSITIVE("tol", tol)
        with Market(self, tol, max_sweeps, device, verify, progress, more) as market:
            return market.clear()


aiyagari = Aiyagari

read = reading(Economy, Aiyagari)
