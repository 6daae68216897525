"""Aiyagari's economy: households that insure themselves by saving, and an interest rate that clears the market."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.devices import Device
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari.market import Market
from beltline.host.models.aiyagari.plot import KINDS
from beltline.host.models.aiyagari.result import SUFFIXES, Economy
from beltline.host.models.base import Model
from beltline.host.problem.checks import ProblemError, check_progress, real, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.processor_session import ProcessorSession
from beltline.host.solver.session import Session


@dataclass(frozen=True)
class Aiyagari(Calibration, Model):
    """The economy of Aiyagari (1994); made by :func:`aiyagari`, which checks the parameters and says what they are."""

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    kinds: ClassVar[tuple[str, ...]] = KINDS

    def solve(
        self,
        tol: float = 1e-10,
        max_sweeps: int = 10_000,
        device: str | Device | Session | ProcessorSession = UNNAMED,
        progress: Any = None,
        verify: bool = True,
        **more: Any,
    ) -> Economy:
        """Find the interest rate at which households hold the capital that firms rent.

        Every step solves the household's problem on one open session from the last step's value, so that only the
        wealth table is written; on the solvers in double precision it starts from that value's concave majorant. The
        last household is verified.

        Parameters
        ----------
        tol, max_sweeps, device, progress, verify
            Of each household's problem, as of :func:`beltline.host.solver.solve.solve`; device ``"auto"`` is the
            processor.
        **more
            ``method`` and its options on ``"cpu"`` and ``"gpu"`` (by default ``"shift"``, which settles in fewer
            sweeps); on a machine ``value_bits``, ``money_bits``, ``timeout``, options of the device, and on a sweep
            engine method ``"shift"``, whose ``start`` is that of the first household.

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`. A market that does not clear, or a household that is not
            solved, is no error: ``success`` is false and ``message`` says why.
        """
        check_progress(progress)
        for name in ("checkpoint", "checkpoint_every"):
            if more.pop(name, None) is not None:
                raise ProblemError(f"{name} must be None: an economy is many solves")
        with Market(self, tol, max_sweeps, device, verify, progress, more) as market:
            return market.clear()


def aiyagari(
    grid: int = 2000,
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
) -> Aiyagari:
    """Return the economy of Aiyagari (1994): saving against uncertain labour, at the rate that clears the market.

    A household with assets ``a >= 0`` and labour ``l`` has ``W(a, l) = (1 + r) a + w l``; ``ln l' = rho ln l + sigma
    sqrt(1 - rho**2) e``, ``e ~ N(0, 1)``, as a :func:`~beltline.host.problem.markov.tauchen` chain, scaled to a mean of
    1. Firms produce ``K**alpha`` a head and pay ``r = alpha K**(alpha - 1) - delta`` and ``w = (1 - alpha) K**alpha``.
    In equilibrium households hold ``K`` on average.

    ``bl.solve(bl.aiyagari(...), device=...)`` returns an :class:`~beltline.Economy`.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2; of households' choices, too, so few of them make the supply of capital
        jump.
    states
        Number of labour states, 1 to ``CHAIN_LIMIT``.
    beta
        Discount factor of a period (a year with the defaults), above 0 and below 1.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    alpha
        Capital's share of output, above 0 and below 1.
    delta
        Depreciation of a period, above 0 and at most 1.
    rho
        Persistence of log labour, above -1 and below 1.
    sigma
        Unconditional standard deviation of log labour, above 0.
    width
        Half-width of the labour grid in those, above 0.
    high
        Highest assets, above 0, in units of the good.
    power
        Of the grid's spacing, from 1 (:func:`~beltline.host.problem.grids.grid_polynomial`).

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684.
    """
    model = Aiyagari(
        grid=whole("grid", grid, f"a whole number from 2 to {GRID_SIZE_LIMIT}", lambda v: 2 <= v <= GRID_SIZE_LIMIT),
        states=chain_size("states", states),
        beta=parameter("beta", beta),
        eta=parameter("eta", eta),
        alpha=parameter("alpha", alpha),
        delta=real("delta", delta, "a number above 0 and at most 1", lambda v: 0 < v <= 1),
        rho=parameter("rho", rho),
        sigma=parameter("sigma", sigma),
        width=parameter("width", width),
        high=real("high", high, "a number above 0", lambda v: 0 < v < math.inf),
        power=real("power", power, "a number from 1", lambda v: 1 <= v < math.inf),
    )
    model.problem()
    return model
