"""The transition path of the Aiyagari economy after an unexpected change of productivity (an MIT shock)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.timing import timed
from beltline.host.models.aiyagari.model import aiyagari, capital_search, clear, excess_supply, first_value
from beltline.host.models.aiyagari_path.result import Calibration, Rest, TransitionPath, levels_by_date
from beltline.host.models.base import Model
from beltline.host.models.equilibrium import sequence as steady
from beltline.host.models.equilibrium.households import UnsolvedError
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE, Trial
from beltline.host.models.equilibrium.sequence import PERIODS_LIMIT
from beltline.host.models.equilibrium.setup import Named, Setup
from beltline.host.models.equilibrium.transition import Guess, path_verdict
from beltline.host.models.equilibrium.transition import clear as clear_path
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, shown, whole
from beltline.host.problem.model_parameters import POSITIVE, RATE, TO_ONE, count
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting

DEVICE = "cpu"
"""The device that solves transition paths."""

IGNORED = ("max_sweeps", "verify")
"""Arguments of other solves that are accepted and ignored: there is no sweep limit, and every path is checked."""


@dataclass(frozen=True)
class AiyagariPath(Calibration, Model):
    """A transition path. :func:`beltline.aiyagari_path` makes it, checks its parameters and explains them."""

    kinds: ClassVar[tuple[str, ...]] = tuple(TransitionPath.figures)
    finds_prices: ClassVar[bool] = True

    def problem(self) -> Problem:
        """Return the household's problem of :meth:`beltline.host.models.aiyagari.calibration.Calibration.problem`."""
        return self.economy.problem()

    def solve(
        self, tol: float = 1e-10, device: str = UNNAMED, progress: Any = None, max_steps: int = 50, **more: Any
    ) -> TransitionPath:
        """Find the prices at every date at which households supply the capital that firms demand.

        Households choose between grid points, by an exact search over the whole grid, given monotone cubics of the next
        date's value. The value after the last date is that of the final steady state. A choice between two grid points
        is split between them in the distribution. Newton's method finds the prices of all dates together.

        Parameters
        ----------
        tol : float
            Tolerance of the values of both steady states, in units of utility.
        device : str
            ``"cpu"`` or ``"auto"``, which is the same.
        progress
            As in :func:`beltline.solve`.
        max_steps : int
            Largest number of steps of the search for prices, from 1.

        Returns
        -------
        TransitionPath
            If markets do not clear, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError
            An argument is out of range, or is not supported here.
        KeyboardInterrupt
            The user stopped the solve.
        """
        tol = check_arguments("a path of an economy", tol, device, progress, more)
        max_steps = whole("max_steps", max_steps, "a whole number from 1", lambda v: v >= 1)
        begin, economy = time.perf_counter(), self.economy
        states: list[Trial] = []
        guess: Guess | None = None
        steps: tuple[float, ...] = ()
        timing = {"values": 0.0, "distributions": 0.0}
        sweeps, status, message = 0, Outcome.SOLVED, ""

        def start(kind: int, problem: Problem, last: Array | None) -> Array:
            return states[0].periods[0].value if states and last is None else first_value(kind, problem, last)

        with reporting(progress) as report:
            try:
                for level in dict.fromkeys((1.0, self.after)):
                    search = capital_search([economy], np.ones(1), level, tol, start, report)
                    try:
                        states.append(clear(search, [economy]))
                    finally:
                        sweeps += sum(trial.sweeps for trial in search.trials)
                        timing = {name: timing[name] + spent for name, spent in search.timing.items()}
                with timed(timing, "path"):
                    ends = self._rest(states[0]), self._rest(states[-1])
                    given = {"productivity": np.array(self.productivity)}
                    guess, steps = clear_path(self._setup(), *ends, given, ("capital",), max_steps, report)
            except UnsolvedError as unsolved:
                status, message = unsolved.status, str(unsolved)
        found = self._found(guess) | {"timing": timing, "seconds": time.perf_counter() - begin, "steps": steps}
        rests = [self._summary(state) for state in states] or [Rest(*[math.nan] * 5)]
        path = TransitionPath(
            model=self,
            initial=rests[0],
            final=rests[-1] if guess is not None else Rest(*[math.nan] * 5),
            success=False,
            status="",
            message="",
            sweeps=sweeps + self.periods * len(steps),
            residual=max((state.change for state in states), default=math.nan),
            **found,
        )
        if status == Outcome.SOLVED:
            status, message = _verdict(path)
        return replace(path, success=status == Outcome.SOLVED, status=status.value, message=message)

    def _setup(self) -> Setup:
        """Return the economy as functions of capital per head, from which the prices follow, and of productivity."""
        economy = self.economy

        def household(prices: Any) -> Problem:
            output = prices.productivity * prices.capital**economy.alpha
            return economy.at(economy.alpha * output / prices.capital - economy.delta, (1.0 - economy.alpha) * output)

        def excess(aggregates: Any, prices: Any) -> float:
            return float(aggregates.assets / prices.capital - 1.0)

        return Setup(household, {"capital": excess}, ("capital",), Named(productivity=self.after))

    def _rest(self, found: Trial) -> steady.Rest:
        """Return a steady state as a function of capital."""
        prices = Named(capital=found.aggregates.assets, productivity=found.prices.productivity)
        return steady.Rest(prices, found.periods[0], found.masses[0], found.aggregates)

    def _summary(self, found: Trial) -> Rest:
        """Return the prices and the capital of a steady state."""
        productivity, interest = found.prices.productivity, found.prices.interest
        wage = self.economy.wage(interest, productivity)
        return Rest(productivity, interest, wage, found.aggregates.assets, excess_supply(self.economy, found))

    def _found(self, guess: Guess | None) -> dict[str, Any]:
        """Return the arrays of a path; they are nan if none was found."""
        if guess is not None:
            value, choice = (np.stack([getattr(one, name) for one in guess.periods]) for name in ("value", "choice"))
            known = {"capital": guess.prices[0], "excess": guess.excess[0], "distribution": guess.distribution}
            return {"value": value, "choice": choice, **known}
        size, dates = (self.economy.grid, self.economy.states), self.periods
        shapes = {"capital": (dates,), "excess": (dates + 1,), "distribution": (dates + 1, *size)}
        shapes |= {"value": (dates, *size), "choice": (dates, *size)}
        return {name: np.full(shape, np.nan) for name, shape in shapes.items()}


def check_arguments(what: str, tol: object, device: object, progress: object, more: Mapping[str, object]) -> float:
    """Check the arguments of a solve on the processor that has no sweep limit; return ``tol``."""
    check_progress(progress)
    if not isinstance(device, str) or device not in (UNNAMED, DEVICE):
        raise ProblemError(f"{what} is solved on device {DEVICE!r} only, not on {shown(device)}")
    for name, value in more.items():
        if value is not None and name not in IGNORED:
            raise ProblemError(f"{what} does not support {name}")
    return float(POSITIVE("tol", tol))


def _verdict(path: TransitionPath) -> tuple[Outcome, str]:
    for name, rest in (("before", path.initial), ("after", path.final)):
        if not abs(rest.excess) <= MARKET_TOLERANCE:
            return Outcome.MARKET, (
                f"In the steady state {name} the shock the market does not clear: excess supply is {rest.excess:+.2e} "
                f"of demand, and at most {MARKET_TOLERANCE:g} is allowed: raise grid, or lower tol."
            )
    return path_verdict(path.excess[None], ["capital"], path.at_top, path.model.economy.high, len(path.steps))


def aiyagari_path(
    grid: int = 400,
    shock: float = -0.01,
    persistence: float = 0.9,
    periods: int = 200,
    productivity: ArrayLike | None = None,
    **economy: Any,
) -> AiyagariPath:
    """Set up the transition path of the Aiyagari economy after an unexpected change of productivity (an MIT shock).

    The economy is in its steady state. At date 0 everybody learns that output per head will be ``productivity_t
    K_t**alpha`` from then on; nothing unexpected follows. Households know all future prices. At every date::

        V_t(a, l) = max over a' >= 0 of  U((1 + r_t) a + w_t l - a')  +  beta E[V_(t+1)(a', l') | l]
        r_t = alpha productivity_t K_t**(alpha - 1) - delta,    w_t = (1 - alpha) productivity_t K_t**alpha

    where ``K_t`` is the mean of households' assets at the beginning of date ``t``.

    ``bl.solve(bl.aiyagari_path(...))`` returns a :class:`~beltline.TransitionPath`.

    Parameters
    ----------
    grid : int
        Number of grid points of assets, from 2; households choose between them.
    shock : float
        Change of productivity at date 0, above -1: productivity is then ``1 + shock``.
    persistence : float
        From 0 to 1: ``productivity_t = 1 + shock * persistence**t``. With 1 the change is permanent; below 1,
        productivity is exactly 1 again after ``periods``.
    periods : int
        Number of dates ``T``, from 2. If the economy has not reached the new steady state after them, ``message`` of
        the solution says so.
    productivity : (n,) array, optional
        In place of ``shock`` and ``persistence``: productivity at the first ``n`` dates, above 0, ``n`` at most
        ``periods``. Later it stays at the last of these numbers.
    **economy
        The other parameters of :func:`beltline.aiyagari`.

    Returns
    -------
    AiyagariPath
        A model for :func:`beltline.solve`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684. Boppart, Krusell and Mitman (2018), "Exploiting MIT shocks in heterogeneous-agent economies: the impulse
    response as a numerical derivative", Journal of Economic Dynamics and Control 89, 68-92.

    Examples
    --------
    >>> import beltline as bl
    >>> path = bl.solve(bl.aiyagari_path(grid=100, states=3, shock=0.01), progress=False)
    >>> path.success, path.capital.shape
    (True, (200,))
    """
    stationary = aiyagari(grid=grid, **economy)
    periods = count(2, PERIODS_LIMIT)("periods", periods)
    if productivity is not None:
        given = levels_by_date("productivity", productivity)
        if len(given) > periods:
            raise ProblemError(f"productivity must have 1 to periods = {periods} dates, not {len(given)}")
        return AiyagariPath(stationary, given + (given[-1],) * (periods - len(given)), given[-1])
    shock = RATE("shock", shock)
    persistence = TO_ONE("persistence", persistence)
    fades = tuple((1.0 + shock * persistence ** np.arange(periods)).tolist())
    return AiyagariPath(stationary, fades, 1.0 + shock if persistence == 1 else 1.0)


read = reading(TransitionPath, AiyagariPath)
