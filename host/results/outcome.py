"""How a solve ended: the ``status`` of every solution."""

from __future__ import annotations

import enum

GRID_END_SHARE = 1e-3
"""Share of households that choose the highest grid point, or of periods with an aggregate off its grid, above which an
economy ends as ``GRID``."""


class Outcome(str, enum.Enum):
    """How a solve ended, in a word or two; ``message`` of a solution says it in a sentence.

    ``success`` of a solution is true where this is ``CONVERGED``, ``FINISHED`` or ``SOLVED``, and nowhere else.
    """

    CONVERGED = "converged"
    FINISHED = "finished"
    LIMIT = "sweep limit reached"
    STOPPED = "stopped"
    SATURATED = "saturated"
    INFEASIBLE = "infeasible"
    NOT_VERIFIED = "not verified"
    NOT_FINITE = "not finite"
    """A value left the range of double precision."""
    PRICES = "prices refused"
    """Prices that move, which made tables that are no problem."""
    SOLVED = "solved"
    """An economy: prices clear its markets."""
    HOUSEHOLD = "household not solved"
    """An economy, one of whose households' problems is not solved."""
    FIRM = "firm not solved"
    """An economy, one of whose firms' problems is not solved."""
    DISTRIBUTION = "distribution not solved"
    """An economy whose households or firms do not come to rest, or not to one distribution."""
    MARKET = "market not solved"
    """An economy without prices at which its markets clear."""
    GRID = "grid ends too early"
    """An economy, too many of whose households or firms are at the end of a grid, and might leave it if there were
    more."""
    ITERATIONS = "iteration limit"
    """An economy whose law of motion still moved after the last iteration that was allowed."""

    # As of enum.StrEnum, which Python 3.10 lacks.
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(str(self.value), form)
