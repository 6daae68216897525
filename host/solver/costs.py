"""What a machine's table of costs holds: costs that do not fall in ``x'``, whatever those of the problem do.

A candidate is *dominated* where a higher one costs less. If values do not fall in ``x``, the higher one promises no
less either, so nobody needs the dominated one. A machine is given for it what the cheapest of all higher ones costs:

    G'(x', s) = min over y >= x' of G(y, s)

Then costs do not fall, candidates that can be afforded come first, and brackets prove choices
(``docs/sweep-engine.md``). The optimum is that of the problem: under ``G'`` a dominated candidate is worth no more than
the one that it costs as much as, and where a machine chooses it, which takes equal promises, that one is as good and
stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, first
from beltline.host.problem.general import WORKAROUND, check_simple
from beltline.host.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of a problem as a machine takes them.

    Parameters
    ----------
    table : (N_k, N_z) float64 array
        ``G'``, in units of money, no more than what the richest have: none of them can afford that.
    stands : (N_k, N_z) int64 array
        Of each candidate the lowest one from it on that is not dominated.
    """

    table: NDArray[np.float64]
    stands: NDArray[np.int64]

    @property
    def dominated(self) -> bool:
        """Whether any candidate is."""
        return bool((self.stands != np.arange(self.stands.shape[0])[:, None]).any())


def costs_of(problem: Problem) -> Costs | None:
    """Return the costs of a problem that has a table of them, None where ending with ``x'`` costs ``x'``."""
    if problem.cost is None:
        return None
    shape = (problem.points, problem.states)
    given = np.asarray(problem.cost)
    cost = np.broadcast_to(given if given.ndim == 2 else given[:, None], shape)
    least = np.minimum.accumulate(cost[::-1])[::-1]
    own = np.where(cost == least, np.arange(shape[0])[:, None], shape[0])
    stands = np.minimum.accumulate(own[::-1])[::-1]
    return Costs(np.minimum(least, problem.wealth.max(axis=0)), stands)


def check_form(problem: Problem) -> None:
    """Check that a problem is of the simple form, or that nothing of it is of the general form but its cost.

    Raises
    ------
    ProblemError
        There is more.
    """
    check_simple(problem, "a machine", but=("cost",))
    if problem.cost is not None and np.ndim(problem.cost) == 3:
        raise ProblemError(
            f"a machine takes one table of costs, and problem {problem.name!r} has cost by age: {WORKAROUND}"
        )


def first_value(problem: Problem, costs: Costs | None) -> tuple[NDArray[np.float64], str]:
    """Return the value that a machine begins from, ``(N_k, N_z)``, and a sentence where it is not the problem's own.

    Where candidates are dominated, values must not fall in ``x``. Those of a sweep do not.

    Raises
    ------
    ProblemError
        The value after the last age falls.
    """
    start = problem.start.reshape(problem.points, problem.states)
    falls = np.diff(start, axis=0) < 0
    if costs is None or not costs.dominated or not falls.any():
        return start, ""
    if problem.horizon is None:
        note = "The start falls as the grid rises, so its running maximum is taken in its place."
        return np.maximum.accumulate(start), note
    i, s = first(falls)
    raise ProblemError(
        f"start must not fall as the grid rises where cost does, but start[{i + 1}, {s}] = {start[i + 1, s]:.6g} is "
        f"below start[{i}, {s}] = {start[i, s]:.6g}: {WORKAROUND}"
    )
