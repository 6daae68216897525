"""The economy of Aiyagari (1994), and the search for the interest rate at which supply of capital equals demand."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, long_run
from beltline.host.devices import REFERENCES, Device
from beltline.host.models.aiyagari.bracket import UnsolvedError, clearing_rate
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari.result import MARKET_TOLERANCE, Economy, Step
from beltline.host.models.base import Model
from beltline.host.models.model_result import reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, flag
from beltline.host.problem.concavity import concave_majorant
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.result import Result
from beltline.host.solver.options import UNNAMED, check_unnamed, machine_method
from beltline.host.solver.session import Session, in_session
from beltline.host.solver.solve import ProcessorSession, named, solve
from beltline.sim.progress import reporting

RATE_TOLERANCE = 1e-6
"""Accuracy of the interest rate: 0.01 basis points."""

_UNSOLVED = tuple(outcome.value for outcome in (Outcome.LIMIT, Outcome.SATURATED, Outcome.INFEASIBLE, Outcome.STOPPED))
"""Statuses of a household's problem after which the search for the rate is given up."""


class Market(contextlib.AbstractContextManager["Market"]):
    """The households' problem at one interest rate after the other, on one open device."""

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
        self._steps: list[Step] = []
        self._mass: Array | None = None
        self._unique = True
        self._household: Result | None = None
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

    def _solve(self, interest: float, verify: bool, bent: bool) -> Result:
        last, report = self._household, self._report
        start = None
        if last is not None and (bent or self._session is None):
            start = concave_majorant(last.value, last.problem.grid)
        problem = self._model.problem(interest, start)
        where = f"step {len(self._steps) + 1}, r = {interest:.4%}"
        progress: Any = False if report is None else lambda text: report(f"{where}: {text}")
        if self._session is not None:
            return self._session.solve(
                problem, self._tol, self._max_sweeps,
                start="problem" if bent else self._start if last is None else "last", method=self._method,
                progress=progress, verify=verify, **self._more,
            )  # fmt: skip
        return solve(
            problem, self._tol, self._max_sweeps, device=self._device, progress=progress, verify=verify, **self._more
        )

    def _step(self, interest: float, verify: bool = False, bent: bool = False) -> float:
        """Solve at ``interest``; return the supply of capital.

        With ``bent``, a device of the accelerator, too, starts from the concave majorant of the last value.
        """
        model, begin = self._model, time.perf_counter()
        household = self._solve(interest, verify, bent)
        solved = time.perf_counter()
        self._household = household
        problem = household.problem
        mass = self._mass
        if mass is None:
            mass = np.zeros(household.value.shape)
            middle = min(int(np.searchsorted(problem.grid, model.capital(interest))), problem.points - 1)
            mass[middle] = chain_distribution(problem.transition)
        usable = household.sweeps > 0 and not (household.policy < 0).any()
        moves = 0.0
        if usable:
            mass, moves, self._unique = long_run(household.policy, problem.transition, mass)
        self._mass = mass
        supply = float(problem.grid @ mass.sum(axis=1))
        self._steps.append(
            Step(
                interest, supply, model.capital(interest), household.sweeps, household.clocks, solved - begin,
                time.perf_counter() - solved, self._session.moved if self._session is not None else (),
            )
        )  # fmt: skip
        if not usable or household.status in _UNSOLVED:
            raise UnsolvedError(Outcome.HOUSEHOLD, f"The problem of a household was not solved: {household.message}")
        if moves > MASS_MOVES:
            raise UnsolvedError(
                Outcome.DISTRIBUTION,
                f"The distribution of households did not converge: a period still changes {moves:.3g} of it. On a "
                f"coarse grid households hardly ever leave some grid points: raise grid.",
            )
        if self._report is not None:
            self._report(f"step {len(self._steps)}: r = {interest:.4%}, supply of capital {supply:.4f}, "
                         f"demand {model.capital(interest):.4f}")  # fmt: skip
        return supply

    def clear(self) -> Economy:
        """Find the rate, and solve once more at this rate with verification."""
        model = self._model
        status, problem = Outcome.SOLVED, ""
        try:
            rate = clearing_rate(model, self._step, (RATE_TOLERANCE, 1e-12))
            self._step(rate, self._verify)
            if self._household is not None and self._household.status == Outcome.NOT_VERIFIED.value:
                # The last value was not concave, so the local search may have ended at another local maximum.
                self._step(rate, verify=True, bent=True)
        except UnsolvedError as ended:
            status, problem = ended.status, str(ended)
        household, mass = self._household, self._mass
        assert household is not None
        assert mass is not None
        last = self._steps[-1]
        economy = Economy(
            model=model, interest=last.interest, household=household, distribution=mass, success=False,
            status=status.value, message=problem, steps=tuple(self._steps),
        )  # fmt: skip
        if not problem:
            status, message = self._verdict(economy)
            economy = replace(economy, success=status == Outcome.SOLVED, status=status.value, message=message)
        return economy

    def _verdict(self, economy: Economy) -> tuple[Outcome, str]:
        """Return how the search ended, given that it found a rate, and the message."""
        model, household, last = self._model, economy.household, economy.steps[-1]
        if not self._unique:
            return Outcome.DISTRIBUTION, (
                f"On this grid of {model.grid:,} points the long run depends on the initial assets of households: "
                f"they never leave some grid points, so raise grid."
            )
        if not household.success:
            return Outcome.HOUSEHOLD, f"The problem of the household is not solved: {household.message}"
        if economy.at_top > GRID_END_SHARE:
            return Outcome.GRID, (
                f"{economy.at_top:.2%} of households choose the highest grid point, {model.high:g}, and at most "
                f"{GRID_END_SHARE:.2%} may: raise high, or raise grid if few points lie between {model.high:g} and the "
                f"assets of most households."
            )
        if not abs(economy.excess) <= MARKET_TOLERANCE:
            return Outcome.MARKET, (
                f"The market does not clear: at r = {last.interest:.4%} the supply of capital is {last.supply:.6g} and "
                f"demand {last.demand:.6g}, an excess of {economy.excess:+.2%}, and at most {MARKET_TOLERANCE:.0%} is "
                f"allowed. Supply jumps there because assets are grid points: raise grid above {model.grid:,} or "
                f"states above {model.states}; if that does not help, lower tol below {self._tol:g}."
            )
        return Outcome.SOLVED, (
            f"The market clears after {len(self._steps)} steps: supply of capital {last.supply:.6g}, demand "
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

        Each step of the search solves the household's problem at one interest rate, starting from the value of the
        last step. All steps use one open session of the device, so that on a machine only the table of cash on hand is
        written again; the solvers in double precision start from the concave majorant of the last value. The
        household's problem at the final rate is verified.

        Parameters
        ----------
        tol, max_sweeps, device, progress, verify
            For each household's problem, as in :func:`beltline.solve`; device ``"auto"`` takes the processor.
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
        with Market(self, tol, max_sweeps, device, verify, progress, more) as market:
            return market.clear()


aiyagari = Aiyagari

read = reading(Economy, Aiyagari)
