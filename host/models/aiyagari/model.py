"""The economy of Aiyagari (1994): uninsured income risk, saving, and an interest rate that clears the market."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.devices import Device
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari.market import Market
from beltline.host.models.aiyagari.result import Economy
from beltline.host.models.base import Model
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import ProblemError, check_progress
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.processor_session import ProcessorSession
from beltline.host.solver.session import Session


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
        for name in ("checkpoint", "checkpoint_every"):
            if more.pop(name, None) is not None:
                raise ProblemError(f"{name} must be None: an economy is many solves, which have no checkpoints")
        with Market(self, tol, max_sweeps, device, verify, progress, more) as market:
            return market.clear()


aiyagari = Aiyagari

read = reading(Economy, Aiyagari)
