"""Contents of the second matrix of window ``Q`` in a general build: the groups of exogenous states.

An exogenous state of such a build is a *product state*: an alternative in an exogenous state of the problem.
Neighbouring states, the alternatives between which there is a choice, form a *group*. Row 0 of the matrix has the
amount that each state adds to its value. Row 1 has its :class:`Mark` in bits 0 to 15, its lowest candidate in bits 16
to 31, and its highest one in bits 32 to 47. The first three words of row 2 are the constants of the log-sum,
:class:`beltline.hw.arithmetic.log_sum_constants.LogSumConstants`. The other rows are not read.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOWEST_SHIFT, HIGHEST_SHIFT, CANDIDATE_BITS = 16, 32, 16
"""Places of a state's lowest and highest candidate in its word in row 1 of the matrix, and their width."""

NO_SHOCKS = (0, 0, 0)
"""Constants of the log-sum without shocks."""


class Mark(enum.IntFlag):
    """Bits of an exogenous state's word in row 1 of the matrix."""

    BEGINS = 1
    """The state is the first of its group. State 0 must have this mark."""

    ENDS = 2
    """The state is the last of its group, to which weights of expectations refer. State ``N_z - 1`` must have it."""

    KEEPS = 4
    """The state keeps its value from before the sweep, whatever its candidates are worth: a table of values."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the exogenous states of a problem, and what each state adds to its value, and its candidates.

    The machine chooses among the candidates from ``lowest`` to ``highest`` as if the grid had no others. The
    candidates that are left out must not be the only best choice of any point.

    Parameters
    ----------
    kappa : (N_z,) int64 array
        Amount added to the value of each state after the maximisation, in units of value.
    marks : (N_z,) int64 array
        :class:`Mark` bits of each state.
    lowest, highest : (N_z,) int64 arrays
        First and last candidate of each state, grid indexes with ``lowest <= highest``.
    shocks
        Constants of the log-sum, three words from 0 to ``2**64 - 1``; 0 for a maximum.

    Examples
    --------
    >>> import numpy as np
    >>> one = Groups.single(3, points=100)
    >>> one.marks, one.highest
    (array([3, 3, 3]), array([99, 99, 99]))
    """

    kappa: NDArray[np.int64]
    marks: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    shocks: tuple[int, ...] = NO_SHOCKS

    @classmethod
    def single(cls, states: int, points: int) -> Groups:
        """Return groups of one state each with all ``points`` as candidates, for a problem without alternatives."""
        none = np.zeros(states, np.int64)
        return cls(none, none + int(Mark.BEGINS | Mark.ENDS), none, none + points - 1)

    @classmethod
    def of(cls, matrix: NDArray[np.uint64], states: int) -> Groups:
        """Return the groups of a problem with ``states`` exogenous states.

        ``matrix`` is the second matrix of window ``Q``: uint64, ``(STATES_MAX, STATES_MAX)``.
        """
        rows = matrix.view(np.int64)[:2, :states]
        lowest, highest = (rows[1] >> shift & 2**CANDIDATE_BITS - 1 for shift in (LOWEST_SHIFT, HIGHEST_SHIFT))
        shocks = tuple(matrix[2, : len(NO_SHOCKS)].tolist())
        return cls(rows[0].copy(), rows[1] & sum(Mark), lowest, highest, shocks)

    def rows(self, built: int) -> NDArray[np.int64]:
        """Return the rows of the matrix that a build with ``built`` exogenous states reads: int64, ``(3, built)``."""
        found = np.zeros((3, built), np.int64)
        found[2, : len(self.shocks)] = np.array(self.shocks, np.uint64).view(np.int64)
        found[0, : self.kappa.size] = self.kappa
        found[1, : self.marks.size] = self.marks | self.lowest << LOWEST_SHIFT | self.highest << HIGHEST_SHIFT
        return found

    def has(self, mark: Mark) -> NDArray[np.bool_]:
        """Return which states have ``mark``: bool, ``(N_z,)``."""
        return (self.marks & int(mark)) != 0
