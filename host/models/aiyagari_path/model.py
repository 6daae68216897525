"""Aiyagari's economy after an unexpected change of productivity."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.calibration import Calibration
from beltline.host.models.aiyagari_path.clearing import Guess, clear
from beltline.host.models.aiyagari_path.period import Household
from beltline.host.models.aiyagari_path.plot import KINDS
from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE, REST_TOLERANCE, SUFFIXES, Rest, TransitionPath
from beltline.host.models.aiyagari_path.steady_state import SteadyState, UnsolvedError, first_value, steady_state
from beltline.host.models.base import Model
from beltline.host.problem.checks import ProblemError, check_progress, real, shown, table, whole
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting

PERIODS_LIMIT = 10_000
"""Most dates of a path, so that a mistyped number is refused and not allocated."""

DEVICE = "cpu"
"""Where paths are solved."""

WITHOUT_MEANING = ("max_sweeps", "verify")
"""Arguments of other solves that are let pass: nothing here is swept to a limit, and the whole path is always measured.
"""


@dataclass(frozen=True)
class AiyagariPath(Calibration, Model):
    """The economy after a shock; made by :func:`aiyagari_path`, which checks the parameters and says what they are."""

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    kinds: ClassVar[tuple[str, ...]] = KINDS

    def problem(self) -> Problem:
        """Return the household's problem of :meth:`beltline.host.models.aiyagari.calibration.Calibration.problem`."""
        return self.economy.problem()

    def solve(
        self, tol: float = 1e-10, device: str = UNNAMED, progress: Any = None, max_steps: int = 50, **more: Any
    ) -> TransitionPath:
        """Find the prices of every date at which households hold the capital that firms rent.

        Households choose between grid points, by a search over all of the grid, with the value of the next date as
        monotone cubics; the value after the last date is that of the final steady state. Mass goes to the two points
        around a choice. Prices of all dates are found together by Newton's method.

        Parameters
        ----------
        tol
            Of the values of both steady states, in utility.
        device
            ``"cpu"``, which is also ``"auto"``.
        progress
            As of :func:`beltline.host.solver.solve.solve`.
        max_steps
            Steps of the search for prices at most, from 1.

        Raises
        ------
        ProblemError
            An argument out of range, or one that has no meaning here.
        KeyboardInterrupt
            Nothing is left behind. Markets that do not clear are no error: ``success`` is false and ``message`` says
            why.
        """
        tol = check_arguments("a path of an economy", tol, device, progress, more)
        max_steps = whole("max_steps", max_steps, "a whole number from 1", lambda v: v >= 1)
        begin = time.perf_counter()
        states: list[SteadyState] = []
        guess: Guess | None = None
        steps: tuple[float, ...] = ()
        status, message = Outcome.SOLVED, ""
        with reporting(progress) as report:
            household = Household.of(self.economy)
            try:
                for level in (1.0, self.after):
                    if level != 1.0 or not states:
                        value = states[0].period.value if states else first_value(self.economy.problem())
                        states.append(steady_state(self.economy, household, level, value, tol, report))
                guess, steps = clear(self, household, states[0], states[-1], PATH_TOLERANCE, max_steps, report)
            except UnsolvedError as unsolved:
                status, message = unsolved.status, str(unsolved)
        path = self._path(states, guess, steps, time.perf_counter() - begin)
        return _judged(path, status, message)

    def _path(
        self, states: list[SteadyState], guess: Guess | None, steps: tuple[float, ...], seconds: float
    ) -> TransitionPath:
        """What was found, not judged yet; nan where nothing was."""
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
        )


def check_arguments(what: str, tol: object, device: object, progress: object, more: Mapping[str, object]) -> float:
    """Check arguments of a solve on the processor that has no sweeps of its own; return ``tol``.

    Raises
    ------
    ProblemError
        One is out of range, or has no meaning for ``what``.
    """
    check_progress(progress)
    if device not in (UNNAMED, DEVICE):
        raise ProblemError(f"{what} is solved on device {DEVICE!r}, not on {shown(device)}")
    for name, value in more.items():
        if value is not None and name not in WITHOUT_MEANING:
            raise ProblemError(f"{what} takes no {name}")
    return real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)


def _judged(path: TransitionPath, status: Outcome, message: str) -> TransitionPath:
    """The path with its status: the first condition of success that does not hold, and what to do about it."""
    if status == Outcome.SOLVED:
        status, message = _verdict(path)
    return replace(path, success=status == Outcome.SOLVED, status=status.value, message=message)


def _verdict(path: TransitionPath) -> tuple[Outcome, str]:
    economy, allowed = path.model.economy, f"where at most {PATH_TOLERANCE:g} is allowed"
    for name, rest in (("before", path.initial), ("after", path.final)):
        if not abs(rest.excess) <= PATH_TOLERANCE:
            return Outcome.MARKET, (
                f"In the steady state {name} the shock the market does not clear: an excess of {rest.excess:+.2e} "
                f"{allowed}: raise grid above {economy.grid:,}, or lower tol."
            )
    if not path.largest_excess <= PATH_TOLERANCE:
        date = int(np.abs(path.excess[:-1]).argmax())
        return Outcome.MARKET, (
            f"After {len(path.steps)} steps the market of date {date} does not clear: an excess of "
            f"{path.excess[date]:+.2e} {allowed}: raise grid above {economy.grid:,} or max_steps, or lower the shock."
        )
    if not abs(path.excess[-1]) <= REST_TOLERANCE:
        return Outcome.MARKET, (
            f"After {path.model.periods} dates the new steady state is not reached: households hold "
            f"{path.excess[-1]:+.2e} of what firms rent there in excess, where at most {REST_TOLERANCE:g} is allowed: "
            f"raise periods."
        )
    if path.at_top > GRID_END_SHARE:
        return Outcome.GRID, (
            f"At some date {path.at_top:.2%} of households keep the highest assets, {economy.high:g}, where at most "
            f"{GRID_END_SHARE:.2%} may: raise high."
        )
    return Outcome.SOLVED, (
        f"At all {path.model.periods} dates households hold what firms rent, within {path.largest_excess:.1e} of it."
    )


def aiyagari_path(
    grid: int = 400,
    shock: float = -0.01,
    persistence: float = 0.9,
    periods: int = 200,
    productivity: ArrayLike | None = None,
    states: int = 7,
    beta: float = 0.96,
    eta: float = 3.0,
    alpha: float = 0.36,
    delta: float = 0.08,
    rho: float = 0.6,
    sigma: float = 0.2,
    width: float = 3.0,
    high: float = 60.0,
    power: float = 3.0,
) -> AiyagariPath:
    """Return Aiyagari's economy after an unexpected change of productivity: an MIT shock, and the way back.

    The economy rests in its steady state. At date 0 all learn that output a head will be ``productivity_t K_t**alpha``
    from then on; nobody expected it, and nothing unexpected follows. Households know all prices to come, and at every
    date ``r_t = alpha productivity_t K_t**(alpha - 1) - delta`` and ``w_t = (1 - alpha) productivity_t K_t**alpha``,
    ``K_t`` being what they hold.

    ``bl.solve(bl.aiyagari_path(...))`` returns a :class:`~beltline.TransitionPath`.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2; households choose between them.
    shock
        Of productivity at date 0, above -1: it is then ``1 + shock``.
    persistence
        ``productivity_t = 1 + shock * persistence**t``, from 0 to 1; 1 is for good, and below 1 it is 1 again after
        ``periods``.
    periods
        Number of dates ``T``, from 2; after them the economy must be back at rest, or the path is too short, which is
        said.
    productivity : (n,) array, optional
        In place of ``shock`` and ``persistence``: of the first ``n`` dates, at most ``periods``, above 0; then, and
        after the last date, as at the last of them.
    states, beta, eta, alpha, delta, rho, sigma, width, high, power
        As of :func:`beltline.aiyagari`.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> path = bl.solve(bl.aiyagari_path(shock=0.01))  # doctest: +SKIP
    >>> path.capital, path.interest, path.largest_excess  # doctest: +SKIP

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684. Boppart, Krusell and Mitman (2018), "Exploiting MIT shocks in heterogeneous-agent economies: the impulse
    response as a numerical derivative", Journal of Economic Dynamics and Control 89, 68-92.
    """
    economy = aiyagari(
        grid=grid, states=states, beta=beta, eta=eta, alpha=alpha, delta=delta, rho=rho, sigma=sigma, width=width,
        high=high, power=power,
    )  # fmt: skip
    wanted = f"a whole number from 2 to {PERIODS_LIMIT}"
    periods = whole("periods", periods, wanted, lambda v: 2 <= v <= PERIODS_LIMIT)
    if productivity is not None:
        given = table("productivity", productivity, 1)
        if not 1 <= given.size <= periods:
            raise ProblemError(f"productivity must be of 1 to periods = {periods} dates, not {given.size}")
        if not (given > 0).all():
            date = int(np.argmax(given <= 0))
            raise ProblemError(f"productivity must be above 0, but at date {date} it is {given[date]:.6g}")
        levels = [*given.tolist(), *[float(given[-1])] * (periods - given.size)]
        return AiyagariPath(economy, tuple(levels), levels[-1])
    shock = real("shock", shock, "a number above -1", lambda v: -1 < v < math.inf)
    persistence = real("persistence", persistence, "a number from 0 to 1", lambda v: 0 <= v <= 1)
    fades = (1.0 + shock * persistence ** np.arange(periods)).tolist()
    return AiyagariPath(economy, tuple(fades), 1.0 + shock if persistence == 1 else 1.0)
