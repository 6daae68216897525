"""The table of costs of the accelerator, which must not fall in ``x'``, made from any costs of a problem.

A candidate ``x'`` is *dominated* if a higher one costs less. If the value function does not fall in ``x``, the higher
one has no lower continuation value either, so a dominated candidate is never needed. In the table it gets the cost of
the cheapest higher candidate:

    G'(x', s) = min over y >= x' of G(y, s)

Then costs do not fall, the affordable candidates are those up to a highest one, and the search between the choices of
neighbouring states proves its choices (``docs/sweep-engine-general.md``). The optimum is unchanged: under ``G'`` a
dominated candidate is worth no more than the candidate whose cost it has. If the accelerator chooses it, the two have
equal continuation values, and the policy is changed to the candidate that is not dominated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first
from beltline.host.problem.general import WORKAROUND
from beltline.host.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of a problem as the accelerator needs them.

    Parameters
    ----------
    table : (N_k, N_z) float64 array
        ``G'``, in units of the good, at most the largest cash on hand of each exogenous state: a candidate with that
        cost is not affordable anyway.
    stands : (N_k, N_z) int64 array
        For each candidate ``i`` the index of the candidate to report in its place: the lowest one at or above ``i``
        that is not dominated.
    """

    table: NDArray[np.float64]
    stands: NDArray[np.int64]

    @property
    def dominated(self) -> bool:
        """Whether any candidate is dominated."""
        return bool((self.stands != np.arange(self.stands.shape[0])[:, None]).any())


def costs_of(problem: Problem) -> Costs | None:
    """Return the costs of a problem with ``cost``; None for one without, where ending with ``x'`` costs ``x'``."""
    if problem.cost is None:
        return None
    shape = (problem.points, problem.states)
    given = np.asarray(problem.cost)
    cost = np.broadcast_to(given if given.ndim == 2 else given[:, None], shape)
    least = np.minimum.accumulate(cost[::-1])[::-1]
    own = np.where(cost == least, np.arange(shape[0])[:, None], shape[0])
    stands = np.minimum.accumulate(own[::-1])[::-1]
    return Costs(np.minimum(least, problem.wealth.max(axis=0)), stands)


def first_value(problem: Problem, costs: Costs | None) -> tuple[NDArray[np.float64], str]:
    """Return the value function from which the accelerator begins, ``(N_k, N_z)``, and a note if it was changed.

    If candidates are dominated, the value function must not fall in ``x``. Those that sweeps return do not. A first
    guess that falls is replaced by its running maximum, and the note says so.

    Raises
    ------
    ProblemError
        The problem has a horizon, and the value after the last age falls in ``x``.
    """
    start = problem.start.reshape(problem.points, problem.states)
    if costs is None or not costs.dominated:
        return start, ""
    falls = np.diff(start, axis=0) < 0
    if not falls.any():
        return start, ""
    if problem.horizon is None:
        note = "The start falls as the grid rises, so the solve began from its running maximum."
        return np.maximum.accumulate(start), note
    i, s = first(falls)
    raise ProblemError(
        f"start must not fall as the grid rises where cost does, but start[{i + 1}, {s}] = {start[i + 1, s]:.6g} is "
        f"below start[{i}, {s}] = {start[i, s]:.6g}: {WORKAROUND}"
    )
