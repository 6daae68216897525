"""The second matrix of window ``Q`` in a build with alternatives: which exogenous states belong together.

In such a build an exogenous state stands for an alternative in an exogenous state of the problem. Neighbouring states
form a *group*, the alternatives between which there is a choice. Row 0 of the matrix has what each state adds to its
value, row 1 its :class:`Mark`; the other rows are not read.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class Mark(enum.IntFlag):
    """Bits of the word of an exogenous state in row 1."""

    BEGINS = 1
    """It is the first of its group. The first state of all must be one."""

    ENDS = 2
    """It is the last of its group, to which the weights of expectations refer. The last state of all must be one."""

    KEEPS = 4
    """Its value is that from before the sweep, whatever its candidates are worth: a table of values."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the exogenous states of a problem.

    Parameters
    ----------
    kappa : (N_z,) int64 array
        What is added to the value of each state after the maximisation, in units of value.
    marks : (N_z,) int64 array
        :class:`Mark` of each.

    Examples
    --------
    >>> import numpy as np
    >>> Groups.single(3).marks
    array([3, 3, 3])
    """

    kappa: NDArray[np.int64]
    marks: NDArray[np.int64]

    @classmethod
    def single(cls, states: int) -> Groups:
        """Each state is a group of its own: a problem without alternatives."""
        return cls(np.zeros(states, np.int64), np.full(states, int(Mark.BEGINS | Mark.ENDS), np.int64))

    @classmethod
    def of(cls, matrix: NDArray[np.uint64], states: int) -> Groups:
        """Those of a problem with ``states`` exogenous states in a matrix, ``(STATES_MAX, STATES_MAX)``."""
        rows = matrix.view(np.int64)[:2, :states]
        return cls(rows[0].copy(), rows[1] & int(Mark.BEGINS | Mark.ENDS | Mark.KEEPS))

    def matrix(self, built: int) -> NDArray[np.int64]:
        """The matrix for a build of ``built`` states: int64, ``(built, built)``."""
        found = np.zeros((built, built), np.int64)
        found[0, : self.kappa.size], found[1, : self.marks.size] = self.kappa, self.marks
        return found

    def has(self, mark: Mark) -> NDArray[np.bool_]:
        """Which states have ``mark``."""
        return (self.marks & int(mark)) != 0
