"""The economy of Hopenhayn and Rogerson (1993): firms with firing costs, entry and exit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.base import Model
from beltline.host.models.hopenhayn_rogerson.calibration import Calibration
from beltline.host.models.hopenhayn_rogerson.equilibrium import Search
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.models.machines import placed
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import ProblemError, check_progress
from beltline.host.solver.options import UNNAMED
from beltline.sim.progress import reporting


@dataclass(frozen=True)
class HopenhaynRogerson(Calibration, Model):
    """The economy of Hopenhayn and Rogerson (1993): firms that pay firing costs, enter and exit.

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

    kinds: ClassVar[tuple[str, ...]] = tuple(FirmEconomy.figures)
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
        states = (len(self.producing) + 1) * self.states
        device, more, _ = placed("an economy with firing costs", device, self.grid, states, more, bounds=True)
        if "update" in more:
            raise ProblemError(
                "update must not be given: the price is set by the value of entry, which equals its cost"
            )
        check_progress(progress)
        with reporting(progress) as report:
            options = {"tol": tol, "max_sweeps": max_sweeps, "device": device, **more}
            return Search(self, options, report).equilibrium()


hopenhayn_rogerson = HopenhaynRogerson

read = reading(FirmEconomy, HopenhaynRogerson)
