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
from beltline.host.models.aiyagari.bracket import UnsolvedError
from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.clearing import Guess, clear
from beltline.host.models.aiyagari_path.result import (
    PATH_TOLERANCE,
    PERIODS_LIMIT,
    REST_TOLERANCE,
    Calibration,
    Rest,
    TransitionPath,
    levels_by_date,
)
from beltline.host.models.aiyagari_path.steady_state import (
    Household,
    SteadyState,
    first_value,
    steady_state,
)
from beltline.host.models.base import Model
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import ProblemError, check_progress, shown, whole
from beltline.host.problem.model_parameters import POSITIVE, RATE, TO_ONE, count
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
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
        begin = time.perf_counter()
        states: list[SteadyState] = []
        guess: Guess | None = None
        steps: tuple[float, ...] = ()
        timing: dict[str, float] = {}
        status, message = Outcome.SOLVED, ""
        with reporting(progress) as report:
            household = Household.of(self.economy)
            try:
                for level in (1.0, self.after):
                    if level != 1.0 or not states:
                        value = states[0].period.value if states else first_value(self.economy.problem())
                        states.append(steady_state([household], np.ones(1), level, [value], tol, report, timing))
                with timed(timing, "path"):
                    guess, steps = clear(self, household, states[0], states[-1], PATH_TOLERANCE, max_steps, report)
            except UnsolvedError as unsolved:
                status, message = unsolved.status, str(unsolved)
        path = self._path(states, guess, steps, time.perf_counter() - begin, timing)
        return _judged(path, status, message)

    def _path(
        self,
        states: list[SteadyState],
        guess: Guess | None,
        steps: tuple[float, ...],
        seconds: float,
        timing: dict[str, float],
    ) -> TransitionPath:
        """Return what was found, without a status; arrays are nan if nothing was found."""
        size = (self.periods, self.economy.grid, self.economy.states)
        none = np.full(size, np.nan)
        rests = [
            Rest(found.productivity, found.interest, found.wage, found.capital, found.excess) for found in states
        ] or [Rest(*[math.nan] * 5)]
        return TransitionPath(
            model=self,
            initial=rests[0],
            final=rests[-1] if guess is not None else Rest(*[math.nan] * 5),
            capital=none[:, 0, 0] if guess is None else guess.capital,
            excess=np.full(size[0] + 1, np.nan) if guess is None else guess.excess,
            value=none if guess is None else np.stack([period.value for period in guess.periods]),
            choice=none if guess is None else np.stack([period.choice for period in guess.periods]),
            distribution=np.full((size[0] + 1, *size[1:]), np.nan) if guess is None else guess.distribution,
            success=False,
            status="",
            message="",
            steps=steps,
            seconds=seconds,
            timing=timing,
            sweeps=sum(found.sweeps for found in states) + self.periods * len(steps),
            residual=max((found.residual for found in states), default=math.nan),
        )


def check_arguments(what: str, tol: object, device: object, progress: object, more: Mapping[str, object]) -> float:
    """Check the arguments of a solve on the processor that has no sweep limit; return ``tol``."""
    check_progress(progress)
    if not isinstance(device, str) or device not in (UNNAMED, DEVICE):
        raise ProblemError(f"{what} is solved on device {DEVICE!r} only, not on {shown(device)}")
    for name, value in more.items():
        if value is not None and name not in IGNORED:
            raise ProblemError(f"{what} does not support {name}")
    return float(POSITIVE("tol", tol))


def _judged(path: TransitionPath, status: Outcome, message: str) -> TransitionPath:
    """Return the path with its status: the first condition of success that does not hold, and what to do about it."""
    if status == Outcome.SOLVED:
        status, message = _verdict(path)
    return replace(path, success=status == Outcome.SOLVED, status=status.value, message=message)


def _verdict(path: TransitionPath) -> tuple[Outcome, str]:
    economy, allowed = path.model.economy, f"and at most {PATH_TOLERANCE:g} is allowed"
    for name, rest in (("before", path.initial), ("after", path.final)):
        if not abs(rest.excess) <= PATH_TOLERANCE:
            return Outcome.MARKET, (
                f"In the steady state {name} the shock the market does not clear: excess supply is {rest.excess:+.2e} "
                f"of demand, {allowed}: raise grid above {economy.grid:,}, or lower tol."
            )
    if not path.largest_excess <= PATH_TOLERANCE:
        date = int(np.abs(path.excess[:-1]).argmax())
        return Outcome.MARKET, (
            f"After {len(path.steps)} steps the market of date {date} does not clear: excess supply is "
            f"{path.excess[date]:+.2e} of demand, {allowed}: raise grid above {economy.grid:,} or max_steps, or lower "
            f"the shock."
        )
    if not abs(path.excess[-1]) <= REST_TOLERANCE:
        return Outcome.MARKET, (
            f"After {path.model.periods} dates the new steady state is not reached: excess supply of capital is "
            f"{path.excess[-1]:+.2e} of its demand, and at most {REST_TOLERANCE:g} is allowed: raise periods."
        )
    if path.at_top > GRID_END_SHARE:
        return Outcome.GRID, (
            f"At some date {path.at_top:.2%} of households choose the highest assets, {economy.high:g}, and at most "
            f"{GRID_END_SHARE:.2%} may: raise high."
        )
    return Outcome.SOLVED, (
        f"The markets of all {path.model.periods} dates clear, with an excess of at most {path.largest_excess:.1e}."
    )


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
