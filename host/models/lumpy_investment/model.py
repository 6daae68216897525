"""Lumpy investment: a firm that pays a fixed and a convex cost if it adjusts its capital."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.base import Model
from beltline.host.models.lumpy_investment.calibration import Calibration, grid_points
from beltline.host.models.lumpy_investment.plot import KINDS
from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.problem.checks import ProblemError, real, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.results.save import SUFFIXES
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_discrete import DEVICE as DISCRETE
from beltline.host.solver.solve_general import check_device


@dataclass(frozen=True)
class LumpyInvestment(Calibration, Model):
    """A firm with adjustment costs. :func:`beltline.lumpy_investment` makes it and explains its parameters."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    @property
    def suffixes(self) -> tuple[str, ...]:  # type: ignore[override]
        """File name endings that ``save`` of its solution accepts."""
        return SUFFIXES[:1] if self.convex > 0.0 else SUFFIXES

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


def lumpy_investment(
    steps: int = 8,
    states: int = 11,
    beta: float = 0.95,
    alpha: float = 0.6,
    delta: float = 0.07,
    rho: float = 0.9,
    sigma: float = 0.1,
    fixed: float = 0.01,
    convex: float = 0.0,
    width: float = 3.0,
    low: float = 0.02,
    high: float = 50.0,
) -> LumpyInvestment:
    """Set up the problem of a firm that pays a fixed and a convex cost if it adjusts its capital; a period is a year.

    With capital ``k`` and productivity ``z`` the firm solves::

        V(k, z) = a z k**alpha + max(beta E[V((1 - delta) k, z') | z],
                                     max over k' of  -i - fixed - convex / 2 (i / k)**2 k + beta E[V(k', z') | z])
        i = k' - (1 - delta) k,    ln z' = rho ln z + e,    e ~ N(0, sigma**2)

    The first alternative is to do nothing. Productivity is discretised by :func:`beltline.tauchen`. ``a`` is such that
    the firm would own a capital of 1 without shocks and adjustment costs; this is the unit of the good. The grid of
    capital is geometric, so that depreciated capital is a grid point.

    ``bl.solve(bl.lumpy_investment(...))`` returns a :class:`~beltline.LumpyInvestmentResult`. The default parameters
    are round numbers for a plant and are not estimated.

    Parameters
    ----------
    steps : int
        Number of grid points by which capital falls in a period through depreciation, at least 1; a larger number is a
        finer grid.
    states : int
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    beta : float
        Discount factor, above 0 and below 1.
    alpha : float
        Exponent of capital in profits, above 0 and below 1.
    delta : float
        Depreciation rate, above 0 and below 1.
    rho : float
        Autocorrelation of log productivity, above -1 and below 1.
    sigma : float
        Standard deviation of its shock, above 0.
    fixed : float
        Fixed cost of adjusting, in units of the good, from 0.
    convex : float
        Coefficient of the convex cost, from 0. With a convex cost the firm's problem is solved as a discrete problem on
        the processor; time and memory grow with the square of the number of grid points, and ``steps=4`` is a good
        choice.
    width : float
        Half-width of the grid of log productivity in unconditional standard deviations, above 0.
    low, high : float
        Ends of the grid of capital, above 0; its lowest point is ``low`` or less than one step below.

    Returns
    -------
    LumpyInvestment
        A model for :func:`beltline.solve`.

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
    share = "a number above 0 and below 1"
    steps = whole("steps", steps, f"a whole number from 1 to {GRID_SIZE_LIMIT}", lambda v: 1 <= v <= GRID_SIZE_LIMIT)
    delta = real("delta", delta, share, lambda v: 0 < v < 1)
    low = real("low", low, "a number above 0", lambda v: 0 < v < math.inf)
    high = real("high", high, f"a number above low = {low:g}", lambda v: low < v < math.inf)
    points = grid_points(steps, delta, low, high)
    if not steps < points <= GRID_SIZE_LIMIT:
        raise ProblemError(
            f"the grid from low = {low:g} to high = {high:g} must have more than steps = {steps} points and at most "
            f"{GRID_SIZE_LIMIT:,}, not {points:,}"
        )
    model = LumpyInvestment(
        steps=steps,
        states=chain_size("states", states),
        beta=parameter("beta", beta),
        alpha=parameter("alpha", alpha),
        delta=delta,
        rho=parameter("rho", rho),
        sigma=parameter("sigma", sigma),
        fixed=real("fixed", fixed, "a number from 0", lambda v: 0 <= v < math.inf),
        convex=real("convex", convex, "a number from 0", lambda v: 0 <= v < math.inf),
        width=parameter("width", width),
        low=low,
        high=high,
    )
    check_tables(13 * points * model.states, points=points, states=model.states)
    # Looked at here, so that a chain that is out of range is refused before any work.
    _ = model.chain
    return model
