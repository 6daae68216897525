"""Lumpy investment: a firm that pays a fixed and a convex cost if it adjusts its capital."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.base import Model
from beltline.host.models.lumpy_investment.calibration import Calibration
from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_discrete import DEVICE as DISCRETE
from beltline.host.solver.solve_general import check_device


@dataclass(frozen=True)
class LumpyInvestment(Calibration, Model):
    """A firm that pays a fixed and a convex cost if it adjusts its capital; a period is a year.

    With capital ``k`` and productivity ``z`` the firm solves::

        V(k, z) = a z k**alpha + max(beta E[V((1 - delta) k, z') | z],
                                     max over k' of  -i - fixed - convex / 2 (i / k)**2 k + beta E[V(k', z') | z])
        i = k' - (1 - delta) k,    ln z' = rho ln z + e,    e ~ N(0, sigma**2)

    The first alternative is to do nothing. Productivity is discretised by :func:`beltline.tauchen`. ``a`` is such that
    the firm would own a capital of 1 without shocks and adjustment costs; this is the unit of the good. The grid of
    capital is geometric, so that depreciated capital is a grid point.

    ``bl.solve(bl.lumpy_investment(...))`` returns a :class:`~beltline.LumpyInvestmentResult`. The default parameters
    are round numbers for a plant and are not estimated.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Caballero and Engel (1999), "Explaining investment dynamics in U.S. manufacturing: a generalized (S,s) approach",
    Econometrica 67(4), 783-826. Cooper and Haltiwanger (2006), "On the nature of capital adjustment costs", Review of
    Economic Studies 73(3), 611-633.

    Examples
    --------
    >>> import beltline as bl
    >>> firm = bl.solve(bl.lumpy_investment(steps=4, states=5), progress=False)
    >>> firm.success, bool((firm.lower < firm.upper).all())
    (True, True)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(LumpyInvestmentResult.figures)

    def solve(
        self, tol: float = 1e-9, device: str = UNNAMED, progress: Any = None, **more: Any
    ) -> LumpyInvestmentResult:
        """Solve the firm's problem.

        Without a convex cost it is a problem of the general form, solved by exact sweeps; with one it is a discrete
        problem, solved by policy iteration over all pairs of capital and next capital.

        Parameters
        ----------
        tol : float
            The iteration ends when the largest change of the value is below it, in units of the good.
        device : str
            ``"cpu"`` or, without a convex cost, ``"gpu"``; by default ``"auto"``, which takes the processor.
        progress, **more
            As :func:`beltline.solve` has them for such a problem, except ``update``.

        Returns
        -------
        LumpyInvestmentResult

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.solve`.
        """
        device = check_device("lumpy investment", device)
        if "update" in more:
            raise ProblemError("update must not be given: lumpy investment has no prices to update")
        if self.convex > 0.0 and device != DISCRETE:
            raise ProblemError(
                f"lumpy investment with a convex cost is solved on device {DISCRETE!r}, not on {device!r}"
            )
        problem: Any = self.discrete_problem() if self.convex > 0.0 else self.problem()
        solution: Any = solve(problem, tol=tol, device=device, progress=progress, **more)
        return LumpyInvestmentResult(self, solution)


lumpy_investment = LumpyInvestment

read = reading(LumpyInvestmentResult, LumpyInvestment)
