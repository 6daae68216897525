"""Contents of the second matrix of window ``Q`` in a build with alternatives: the groups of exogenous states.

An exogenous state of such a build is a *product state*: an alternative in an exogenous state of the problem.
Neighbouring states, the alternatives between which there is a choice, form a *group*. Row 0 of the matrix has the
amount that each state adds to its value, row 1 its :class:`Mark`; the other rows are not read.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    """Groups of the exogenous states of a problem, and what each state adds to its value.

    Parameters
    ----------
    kappa : (N_z,) int64 array
        Amount added to the value of each state after the maximisation, in units of value.
    marks : (N_z,) int64 array
        :class:`Mark` bits of each state.

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
        """Return groups of one state each, for a problem without alternatives."""
        return cls(np.zeros(states, np.int64), np.full(states, int(Mark.BEGINS | Mark.ENDS), np.int64))

    @classmethod
    def of(cls, matrix: NDArray[np.uint64], states: int) -> Groups:
        """Return the groups of a problem with ``states`` exogenous states.

        ``matrix`` is the second matrix of window ``Q``: uint64, ``(STATES_MAX, STATES_MAX)``.
        """
        rows = matrix.view(np.int64)[:2, :states]
        return cls(rows[0].copy(), rows[1] & int(Mark.BEGINS | Mark.ENDS | Mark.KEEPS))

    def matrix(self, built: int) -> NDArray[np.int64]:
        """Return the matrix for a build with ``built`` exogenous states: int64, ``(built, built)``."""
        found = np.zeros((built, built), np.int64)
        found[0, : self.kappa.size], found[1, : self.marks.size] = self.kappa, self.marks
        return found

    def has(self, mark: Mark) -> NDArray[np.bool_]:
        """Return which states have ``mark``: bool, ``(N_z,)``."""
        return (self.marks & int(mark)) != 0
