"""Lumpy investment: a firm that pays a fixed and a convex cost whenever it adjusts its capital."""

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
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.results.discrete_record import SUFFIXES as FILES
from beltline.host.results.save import SUFFIXES
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_discrete import DEVICE as DISCRETE
from beltline.host.solver.solve_general import check_device


@dataclass(frozen=True)
class LumpyInvestment(Calibration, Model):
    """Lumpy investment; made by :func:`lumpy_investment`, which checks the parameters and says what they are."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    @property
    def suffixes(self) -> tuple[str, ...]:  # type: ignore[override]
        """File types that its solution is saved as."""
        return FILES if self.convex > 0.0 else SUFFIXES

    def solve(
        self, tol: float = 1e-9, device: str = UNNAMED, progress: Any = None, **more: Any
    ) -> LumpyInvestmentResult:
        """Solve the firm's problem by exact sweeps; with a convex cost by policy iteration over all pairs of capital
        and next capital.

        Parameters
        ----------
        tol
            Largest change of the value at which to stop, units of the good.
        device
            ``"cpu"`` or, without a convex cost, ``"gpu"``; by default ``"auto"``, which is the processor.
        progress, **more
            As of :func:`beltline.host.solver.solve.solve` for a problem of the general form, but ``update``; with a
            convex cost as for a discrete problem.

        Raises
        ------
        ProblemError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`.
        """
        device = check_device("lumpy investment", device)
        if "update" in more:
            raise ProblemError("update must not be given: no table of lumpy investment moves")
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
    """Return the problem of a firm that pays a fixed and a convex cost whenever it adjusts its capital, by the year.

    With capital ``k`` and productivity ``z`` the firm earns ``a z k**alpha``. It keeps its capital, of which
    ``(1 - delta) k`` is left, or adjusts it: it pays ``fixed``, the convex cost and ``k' - (1 - delta) k``, whatever
    ``k'`` it likes.
    ``ln z' = rho ln z + e``, ``e ~ N(0, sigma**2)``, as a :func:`~beltline.host.problem.markov.tauchen` chain. ``a`` is
    such that without shocks and fixed cost a firm would own capital of 1, which is the unit of the good here.

    ``bl.solve(bl.lumpy_investment(...))`` returns a :class:`~beltline.LumpyInvestmentResult`. The grid is geometric, so
    that capital that depreciates stays on it. Defaults are round numbers for a plant and a year, of nobody's
    estimation.

    Parameters
    ----------
    steps
        Grid points by which capital falls in a period, at least 1: the grid's fineness.
    states
        Number of productivity states, 1 to ``CHAIN_LIMIT``.
    beta
        Discount factor, above 0 and below 1.
    alpha
        Curvature of profits, above 0 and below 1.
    delta
        Depreciation, above 0 and below 1.
    rho
        Persistence of log productivity, above -1 and below 1.
    sigma
        Standard deviation of its shock, above 0.
    fixed
        Cost of adjusting, units of the good, from 0.
    convex
        Of the investment rate: a firm that adjusts also pays ``convex / 2 * (i / k)**2 * k``, with ``i = k' - (1 -
        delta) k``; from 0. With it the firm is solved as a discrete problem, on the processor, and time and memory grow
        with the square of the number of grid points: ``steps=4`` is a good choice.
    width
        Half-width of the grid of log productivity in unconditional standard deviations, above 0.
    low, high
        Ends of the grid of capital, above 0; it begins at ``low`` or less than a step below.

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Examples
    --------
    >>> firm = bl.solve(bl.lumpy_investment())  # doctest: +SKIP
    >>> firm.lower, firm.target, firm.upper  # doctest: +SKIP
    >>> bl.solve(bl.lumpy_investment(steps=4, convex=0.2)).moments()  # doctest: +SKIP

    Sources
    -------
    Caballero and Engel (1999), "Explaining investment dynamics in U.S. manufacturing: a generalized (S,s) approach",
    Econometrica 67(4), 783-826. Cooper and Haltiwanger (2006), "On the nature of capital adjustment costs", Review of
    Economic Studies 73(3), 611-633.
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
    # Looked at here, so that a chain that is out of range is refused before any work.
    _ = model.chain
    return model
