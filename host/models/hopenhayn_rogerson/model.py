"""The economy of Hopenhayn and Rogerson (1993): firms with firing costs, entry and exit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.base import Model
from beltline.host.models.hopenhayn_rogerson.calibration import AFTER, BEFORE, SPACINGS, Calibration
from beltline.host.models.hopenhayn_rogerson.equilibrium import Search
from beltline.host.models.hopenhayn_rogerson.plot import KINDS
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.models.machines import on_machine
from beltline.host.problem.checks import ProblemError, check_progress, real, shown, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve_general import check_device
from beltline.sim.progress import reporting


@dataclass(frozen=True)
class HopenhaynRogerson(Calibration, Model):
    """The economy of Hopenhayn and Rogerson (1993).

    :func:`beltline.hopenhayn_rogerson` makes it, checks its parameters and explains them.
    """

    kinds: ClassVar[tuple[str, ...]] = KINDS
    finds_prices: ClassVar[bool] = True

    def solve(
        self,
        tol: float = 1e-8,
        max_sweeps: int = 10_000,
        device: Any = UNNAMED,
        progress: Any = None,
        **more: Any,
    ) -> FirmEconomy:
        """Find the price at which the value of entry equals its cost.

        The economy without firing costs is solved first, at price 1; it determines the cost of entry and the disutility
        of labour. Then a firm's problem is solved at one price after the other, each from the values of the last. The
        value of entry, in units of the good, increases with the price, so that the equilibrium price is unique.

        Parameters
        ----------
        tol, max_sweeps
            For each firm's problem, as in :func:`beltline.solve`; values are in units of the wage.
        device : str, Session or Device
            ``"cpu"`` or ``"gpu"``; by default ``"auto"``, which takes the processor. Or a device of the accelerator,
            whose sweep engine must take alternatives, and bounds that depend on the workers of the last period. Without
            ``lanes=`` the devices ``"emulator"`` and ``"rtl"`` are built so.
        progress, **more
            As :func:`beltline.solve` has them for a problem of the general form, except ``update``.

        Returns
        -------
        FirmEconomy
            If the economy is not solved, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        machine = on_machine(device, self.grid, (len(self.producing) + 1) * self.states, more, bounds=True)
        if machine is None:
            device = check_device("an economy with firing costs", device)
        more = more if machine is None else machine
        if "update" in more:
            raise ProblemError(
                "update must not be given: the price is set by the value of entry, which equals its cost"
            )
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
    """Set up the economy of Hopenhayn and Rogerson (1993): firms that pay firing costs, enter and exit.

    A firm with ``n`` workers in the last period and productivity ``z`` chooses its workers ``n'``. If it decides on
    exit before it sees the next productivity, it solves::

        V(n, z) = max over n' of  p (z n'**alpha - fixed_cost) - n' - tau max(0, n - n')
                                  +  beta max(E[V(n', z') | z], -tau n')
        ln z' = drift + rho ln z + e

    where ``p`` is the price of the good and the wage is 1. Productivity is discretised by :func:`beltline.tauchen`.
    Entrants pay a cost, draw ``z``, and start without workers. In equilibrium the value of entry equals its cost.
    Households have utility ``ln c - A N``, own the firms, and receive the firing costs. The cost of entry and ``A`` are
    chosen such that without firing costs the price is 1 and employment is ``employment``.

    ``bl.solve(bl.hopenhayn_rogerson(...))`` returns a :class:`~beltline.FirmEconomy`. A period is five years.

    Parameters
    ----------
    tau : float
        Firing cost per worker, in units of one period's wage, from 0.
    grid : int
        Number of grid points of workers, from 2.
    states : int
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    beta : float
        Discount factor of a period, above 0 and below 1.
    alpha : float
        Exponent of labour in production, above 0 and below 1.
    rho : float
        Autocorrelation of log productivity, above -1 and below 1.
    variance : float
        Unconditional variance of log productivity, above 0.
    drift : float
        Constant of log productivity, whose mean is ``drift / (1 - rho)``.
    width : float
        Half-width of the grid of log productivity in unconditional standard deviations, above 0.
    fixed_cost : float
        Fixed cost of a firm that produces, in units of the good per period, from 0.
    share : float
        Entrants draw their productivity from the lowest states, this share of all, each with the same probability;
        above 0 and at most 1, and at least one state.
    employment : float
        Employment per household in the economy without firing costs, above 0; it only scales the economy.
    high : float
        Largest number of workers of a firm, above 0.
    spacing : str
        Grid of workers: ``"log"``, uniform in ``ln(1 + n)``, or ``"uniform"``.
    exits : str
        Whether a firm decides on exit ``"before"`` it sees the productivity of the period, as in the paper, or
        ``"after"``.

    Returns
    -------
    HopenhaynRogerson
        A model for :func:`beltline.solve`.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Hopenhayn and Rogerson (1993), "Job turnover and policy evaluation: a general equilibrium analysis", Journal of
    Political Economy 101(5), 915-938.

    Examples
    --------
    >>> import beltline as bl
    >>> economy = bl.solve(bl.hopenhayn_rogerson(tau=0.1, grid=60, states=8), progress=False)
    >>> bool(economy.price > 1)
    True
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
    tables = 29 if model.exits == BEFORE else 20
    check_tables(tables * model.grid * model.states, grid=model.grid, states=model.states)
    model.problem()
    return model
