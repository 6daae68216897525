"""How a solve ended: the ``status`` of every solution."""

from __future__ import annotations

import enum

GRID_END_SHARE = 1e-3
"""Largest share at the end of a grid that a solved economy may have.

It is a share of households that choose the highest grid point, or of periods whose aggregate state is off its grid.
Above it the status is ``Outcome.GRID``.
"""


class Outcome(str, enum.Enum):
    """How a solve ended; each member is the text that ``status`` of a result has.

    ``message`` of the same result explains the status in one sentence. ``success`` is true only if the status is
    ``CONVERGED``, ``FINISHED`` or ``SOLVED``.
    """

    CONVERGED = "converged"
    """Infinite horizon: the tolerance is met."""
    FINISHED = "finished"
    """Finite horizon: every age is solved."""
    LIMIT = "sweep limit reached"
    """The tolerance is not met after ``max_sweeps`` sweeps."""
    STOPPED = "stopped"
    """The user stopped the solve; the result is that of the last complete sweep."""
    SATURATED = "saturated"
    """A value left the range of the fixed-point format."""
    INFEASIBLE = "infeasible"
    """A state has no choice that leaves positive consumption."""
    NOT_VERIFIED = "not verified"
    """The check in double precision did not confirm the device's answer, or the answer has no error bound."""
    INEXACT = "too inexact"
    """The error bound is so large beside the spread of the value function that it says too little about it."""
    NOT_FINITE = "not finite"
    """A value left the range of double precision."""
    PRICES = "prices refused"
    """Prices that are updated in each sweep led to tables that are not a valid problem."""
    SOLVED = "solved"
    """Equilibrium: prices clear all markets."""
    HOUSEHOLD = "household not solved"
    """Equilibrium: the problem of some household is not solved."""
    FIRM = "firm not solved"
    """Equilibrium: the problem of some firm is not solved."""
    DISTRIBUTION = "distribution not solved"
    """Equilibrium: no unique stationary distribution of households or firms was found."""
    MARKET = "market not solved"
    """Equilibrium: no prices were found at which the markets clear."""
    GRID = "grid ends too early"
    """Too many households or firms choose an end of the grid, so that a longer grid may change the answer."""
    ITERATIONS = "iteration limit"
    """Equilibrium: the law of motion still changed in the last iteration that was allowed."""

    # The same text as of enum.StrEnum, which Python 3.10 does not have.
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(str(self.value), form)
