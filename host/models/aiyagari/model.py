"""The economy of Aiyagari (1994), and the search for the interest rate at which supply of capital equals demand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.host.devices import Device
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari.result import Economy, Step
from beltline.host.models.base import Model, session_of
from beltline.host.models.equilibrium.economy import verdict
from beltline.host.models.equilibrium.households import UnsolvedError
from beltline.host.models.equilibrium.search import Search, Start, Trial
from beltline.host.models.equilibrium.setup import Named, Setup
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, flag
from beltline.host.problem.concavity import concave_majorant
from beltline.host.problem.model_parameters import POSITIVE
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.session import Session
from beltline.host.solver.solve import ProcessorSession, solve
from beltline.sim.progress import reporting

VALUE_TOLERANCE = 1e-10
"""Largest tolerance of values between grid points: supply is then accurate enough to clear the market."""

MAX_RATES = 100
"""Largest number of interest rates that are tried in each part of the search."""

_UNSOLVED = tuple(outcome.value for outcome in (Outcome.LIMIT, Outcome.SATURATED, Outcome.INFEASIBLE, Outcome.STOPPED))
"""Statuses of a household's problem after which the search for the rate is given up."""


def capital_market(economies: Sequence[Calibration], shares: Array, productivity: float = 1.0) -> Setup:
    """Return the economy of households of several types, of which the first pays for the capital of firms."""
    firms = economies[0]

    def household(prices: Any) -> tuple[Problem, ...]:
        wage = firms.wage(prices.interest, prices.productivity)
        return tuple(economy.at(prices.interest, wage) for economy in economies)

    def gap(aggregates: Any, prices: Any) -> float:
        """Return the rate at which firms would demand what is supplied, less the rate."""
        supply = aggregates.assets
        return min(firms.rate(supply, prices.productivity) - prices.interest, 1.0) if supply > 0 else 1.0

    return Setup(household, {"capital": gap}, ("interest",), Named(productivity=productivity), weights=shares)


def excess_supply(economy: Calibration, trial: Trial) -> float:
    """Return the excess supply of capital as a share of demand."""
    return float(trial.aggregates.assets / economy.capital(trial.prices.interest, trial.prices.productivity) - 1)


def in_shares(economies: Sequence[Calibration], trial: Trial) -> Trial:
    """Return a trial whose excess is a share of demand, in which the tolerance is, and not a rate."""
    return replace(trial, excess=np.array([excess_supply(economies[0], trial)]))


def first_value(kind: int, problem: Problem, last: Array | None) -> Array:
    """Return the last value between grid points; at first that of choices from the grid."""
    return solve(problem, device="cpu", verify=False, progress=False).value if last is None else last


def capital_search(
    economies: Sequence[Calibration], shares: Array, productivity: float, tol: float, start: Start,
    report: Callable[[str], None] | None,
) -> Search:  # fmt: skip
    """Return a search for the interest rate between its bounds."""
    setup = capital_market(economies, shares, productivity)
    return Search(setup, tol, start, report, [-economies[0].delta], [_ceiling(economies)])


def _ceiling(economies: Sequence[Calibration]) -> float:
    """Return ``1/beta - 1`` of the most patient households: no equilibrium has a higher interest rate."""
    return 1 / max(economy.beta for economy in economies) - 1


def clear(search: Search, economies: Sequence[Calibration]) -> Trial:
    """Find the interest rate at which households supply the capital that firms demand."""
    firms = economies[0]
    try:
        return search.clear([0.9 * _ceiling(economies)], MAX_RATES)
    except UnsolvedError as unsolved:
        highest = max(search.trials, key=lambda trial: float(trial.prices.interest), default=None)
        if unsolved.status != Outcome.MARKET or highest is None or highest.excess[0] <= 0:
            raise
        # On an infinite grid, supply rises without bound as the rate approaches 1/beta - 1.
        of = " of the most patient type" if len(economies) > 1 else ""
        why = "the grid ends too early, so raise high."
        if firms.states == 1:
            why = "with one state incomes are certain, and households save at no rate below 1/beta - 1, so raise "
            why += "states."
        prices = highest.prices
        raise UnsolvedError(
            Outcome.MARKET,
            f"Just below 1/beta - 1{of} the supply of capital is {highest.aggregates.assets:.4g} and demand "
            f"{firms.capital(prices.interest, prices.productivity):.4g}: {why}",
        ) from None


class Market:
    """The household's problem on the grid at one interest rate after the other, in one session."""

    def __init__(self, model: Calibration, session: Any, options: dict[str, Any], verify: bool, report: Any) -> None:
        self._model, self._session, self._verify, self._report = model, session, verify, report
        self._start, self._options = options.pop("start", "given"), options
        self._every = isinstance(session, Session)
        self._solves: list[tuple[Result, float, tuple[str, ...]]] = []

    def _solve(self, problem: Problem, verify: bool, bent: Array | None = None) -> Result:
        """Solve on the grid; from the concave majorant of the value ``bent``, if there is one."""
        report, begin = self._report, time.perf_counter()
        where = f"step {len(self._solves) + 1}, r = {problem.parameters['interest']:.4%}"
        start = "last" if self._solves else self._start
        if bent is not None:
            problem, start = replace(problem, start=concave_majorant(bent, problem.grid)), "given"
        result: Result = self._session.solve(
            problem, start=start, verify=verify, **self._options,
            progress=False if report is None else lambda text: report(f"{where}: {text}"),
        )  # fmt: skip
        self._solves.append((result, time.perf_counter() - begin, self._session.moved))
        if not result.sweeps or (result.policy < 0).any() or result.status in _UNSOLVED:
            raise UnsolvedError(Outcome.HOUSEHOLD, f"The problem of a household was not solved: {result.message}")
        return result

    def _value(self, kind: int, problem: Problem, last: Array | None) -> Array:
        """Return the value from which that between grid points is computed.

        A machine solves the problem on the grid at every rate, and its change is added to the last value between grid
        points. A processor solves it at the first rate only.
        """
        if last is None:
            return self._solve(problem, False).value
        if not self._every:
            return last
        before = self._solves[-1][0].value
        return last + (self._solve(problem, False).value - before)

    def clear(self, tol: float) -> Economy:
        """Find the rate, and solve once more on the grid at this rate with verification."""
        model = self._model
        status, message = Outcome.SOLVED, ""
        search = capital_search([model], np.ones(1), 1.0, min(tol, VALUE_TOLERANCE), self._value, self._report)
        try:
            clear(search, [model])
        except UnsolvedError as ended:
            status, message = ended.status, str(ended)
        at_prices, trial = len(self._solves), search.best if search.trials else None
        if trial is not None and status != Outcome.HOUSEHOLD:
            try:
                problem = trial.periods[0].problem
                found = self._solve(problem, self._verify, None if self._every else trial.periods[0].value)
                if found.status == Outcome.NOT_VERIFIED.value:
                    # The last value was not concave, so the local search may have ended at another local maximum.
                    self._solve(problem, True, found.value)
            except UnsolvedError as ended:
                status, message = ended.status, str(ended)
        household = self._solves[-1][0]
        if trial is not None and not message:
            status, message = verdict(in_shares([model], trial), search.setup, household)
        return Economy(
            model=model,
            interest=float(household.problem.parameters["interest"]),
            household=household,
            distribution=np.zeros(household.value.shape) if trial is None else trial.masses[0],
            continuous_choice=None if trial is None else trial.periods[0].choice,
            success=status == Outcome.SOLVED,
            status=status.value,
            message=message,
            steps=self._steps(search, at_prices),
        )

    def _steps(self, search: Search, at_prices: int) -> tuple[Step, ...]:
        """Return the steps of the search, and those that solve on the grid once more at the rate that it found."""
        model, steps = self._model, list[Step]()
        for number, trial in enumerate(search.trials):
            result, spent, moved = self._solves[number] if self._every or not number else (None, 0.0, ())
            sweeps = result.sweeps if self._every and result is not None else trial.sweeps
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
            On ``"cpu"`` and ``"gpu"`` ``method`` and its options. On a machine ``value_bits``, ``amount_bits``,
            ``timeout`` and the options of the device; on a sweep engine also ``method="shift"``, whose ``start``
            applies to the first household.

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
        with reporting(progress) as report, session_of(device, more, progress) as (session, options):
            options |= {"tol": tol, "max_sweeps": max_sweeps}
            return Market(self, session, options, verify, report).clear(tol)


aiyagari = Aiyagari

read = reading(Economy, Aiyagari)
