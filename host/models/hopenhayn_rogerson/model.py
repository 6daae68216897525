"""Hopenhayn and Rogerson's economy: firms that pay for dismissals, enter and exit, at the price of free entry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.base import Model
from beltline.host.models.hopenhayn_rogerson.calibration import AFTER, BEFORE, SPACINGS, Calibration
from beltline.host.models.hopenhayn_rogerson.equilibrium import Search
from beltline.host.models.hopenhayn_rogerson.plot import KINDS
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.problem.checks import ProblemError, check_progress, real, shown, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve_general import check_device
from beltline.sim.progress import reporting


@dataclass(frozen=True)
class HopenhaynRogerson(Calibration, Model):
    """The economy of Hopenhayn and Rogerson (1993); made by :func:`hopenhayn_rogerson`, which checks the parameters and
    says what they are.
    """

    kinds: ClassVar[tuple[str, ...]] = KINDS

    def solve(
        self,
        tol: float = 1e-8,
        max_sweeps: int = 10_000,
        device: str = UNNAMED,
        progress: Any = None,
        **more: Any,
    ) -> FirmEconomy:
        """Find the price at which entry is worth its cost.

        First the economy without firing costs is solved at price 1, which sets the cost of entry and the disutility of
        labour. Then a firm's problem is solved at one price after the other, each from the last one's values. The value
        of entry, in units of the good, rises with the price, so there is one price.

        Parameters
        ----------
        tol, max_sweeps
            Of each firm's problem, as of :func:`beltline.host.solver.solve.solve`; values are in units of the wage.
        device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which is the processor.
        progress, **more
            As of :func:`beltline.host.solver.solve.solve` for a problem of the general form, but ``update``.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`. An economy that is not solved is no error: ``success`` is false
            and ``message`` says why.
        """
        device = check_device("an economy with firing costs", device)
        if "update" in more:
            raise ProblemError("update must not be given: the price is that at which entry is worth its cost")
        check_progress(progress)
        with reporting(progress) as report:
            options = {"tol": tol, "max_sweeps": max_sweeps, "device": device, **more}
            return Search(self, options, report).equilibrium()


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ProblemError(f"{name} must be {' or '.join(map(repr, known))}, not {shown(value)}")
    return str(value)


def hopenhayn_rogerson(
    tau: float = 0.1,
    grid: int = 250,
    states: int = 20,
    beta: float = 0.8,
    alpha: float = 0.64,
    rho: float = 0.93,
    variance: float = 0.53,
    drift: float = 0.078,
    width: float = 3.0,
    fixed_cost: float = 12.0,
    share: float = 0.65,
    employment: float = 0.6,
    high: float = 5000.0,
    spacing: str = "log",
    exits: str = BEFORE,
) -> HopenhaynRogerson:
    """Return the economy of Hopenhayn and Rogerson (1993): firms that pay for dismissals, enter and exit.

    A firm with ``n`` workers in the last period and productivity ``z`` employs ``n'``, produces ``z n'**alpha``, and
    pays wages ``n'``, a fixed cost, and ``tau max(0, n - n')`` for dismissals. At the end of the period it stays, or
    exits and pays ``tau n'``. ``ln z' = drift + rho ln z + e`` as a :func:`~beltline.host.problem.markov.tauchen`
    chain. Entrants pay a cost, draw ``z``, and begin without workers. The price of the good is that at which entry is
    worth its cost; the wage is 1. Households have ``ln c - A N``, own the firms, and get the firing costs. The cost of
    entry and ``A`` are those at which, without firing costs, the price is 1 and employment is ``employment``.

    ``bl.solve(bl.hopenhayn_rogerson(...))`` returns a :class:`~beltline.FirmEconomy`. A period are five years.

    Parameters
    ----------
    tau
        Firing cost of a worker, units of a period's wage, from 0.
    grid
        Number of grid points of workers, from 2.
    states
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    beta
        Discount factor of a period, above 0 and below 1.
    alpha
        Exponent of labour, above 0 and below 1.
    rho
        Persistence of log productivity, above -1 and below 1.
    variance
        Of log productivity in the long run, above 0.
    drift
        Constant of log productivity; its mean is ``drift / (1 - rho)``.
    width
        Half-width of the grid of log productivity in standard deviations, above 0.
    fixed_cost
        Of a firm that produces, units of the good a period, from 0.
    share
        Of the productivity states, the lowest, from which entrants draw, each as likely; above 0 and at most 1, and at
        least one state.
    employment
        Labour of households in the economy without firing costs, above 0; it only scales the economy.
    high
        Most workers of a firm, above 0.
    spacing
        ``"log"``: even steps of ``ln(1 + n)``. ``"uniform"``: of ``n``.
    exits
        When a firm decides on exit: ``"before"`` it sees the productivity of the period, as in the paper, or
        ``"after"``.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> economy = bl.solve(bl.hopenhayn_rogerson(tau=0.1))  # doctest: +SKIP
    >>> economy.price, economy.welfare, economy.jobs_created  # doctest: +SKIP

    Sources
    -------
    Hopenhayn and Rogerson (1993), "Job turnover and policy evaluation: a general equilibrium analysis", Journal of
    Political Economy 101(5), 915-938.
    """
    model = HopenhaynRogerson(
        tau=real("tau", tau, "a number from 0", lambda v: 0 <= v < math.inf),
        grid=whole("grid", grid, f"a whole number from 2 to {GRID_SIZE_LIMIT}", lambda v: 2 <= v <= GRID_SIZE_LIMIT),
        states=chain_size("states", states),
        beta=parameter("beta", beta),
        alpha=parameter("alpha", alpha),
        rho=parameter("rho", rho),
        variance=real("variance", variance, "a number above 0", lambda v: 0 < v < math.inf),
        drift=real("drift", drift, "a finite number", math.isfinite),
        width=parameter("width", width),
        fixed_cost=real("fixed_cost", fixed_cost, "a number from 0", lambda v: 0 <= v < math.inf),
        share=real("share", share, "a number above 0 and at most 1", lambda v: 0 < v <= 1),
        employment=real("employment", employment, "a number above 0", lambda v: 0 < v < math.inf),
        high=real("high", high, "a number above 0", lambda v: 0 < v < math.inf),
        spacing=_one_of("spacing", spacing, SPACINGS),
        exits=_one_of("exits", exits, (BEFORE, AFTER)),
    )
    if model.lowest < 1:
        raise ProblemError(f"share must leave entrants a state, but {model.share:g} of {model.states} is less than one")
    model.problem()
    return model
