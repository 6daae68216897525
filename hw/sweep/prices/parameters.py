"""Formula, error bound and clocks of the costs of bonds that lanes compute between two sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.trees import join_clocks

POINT_CLOCKS = 8
"""Clocks without a state after each point of a pass. With them a running minimum is written before it is read again."""

LEAST_CLOCKS = 6
"""Clocks from an operand of a running minimum to the result (:class:`beltline.hw.sweep.prices.least.Least`)."""

_CHAIN_CLOCKS = 1
"""Clocks of the chain of minima in addition to those of its states and lanes."""


@dataclass(frozen=True)
class PricesParameters:
    """Parameters of the prices of bonds: a bond is worth what it pays on average, discounted.

    In each exogenous state ``p`` with mark ``PRICED`` a bond with face value ``face(x')`` costs

        G(x', p) = sum over p' of Q(p, p') face(x') 1{paid(x', p')} / (1 + r)

    where it is paid unless the alternative chosen in ``p'`` has mark ``UNPAID``. The expectation unit computes this sum
    with its weights ``beta Q`` from the words ``F(x') = face(x') / (beta (1 + r))``, which the host rounds to units of
    amount, and 0 where a bond is not paid. Its result is exact up to half a unit, and has half a unit at most from the
    rounding of ``F``; so ``G`` has an error of at most one unit of amount (with the rounding of ``beta Q``,
    ``2**-65 |F|`` for each state). Then costs are made to rise, because a candidate that costs no less than a higher
    one is dominated by it:

        G'(x', p) = minimum over y >= x' of G(y, p)

    The lowest candidate of ``p`` is the first ``x'`` at which ``G`` is smallest. The highest one does not change.

    A lane lists its states twice, from the last point to the first, and computes the running minimum. The first pass
    finds the smallest cost of each lane. These pass from the last lane to the first, so that each lane learns the
    smallest cost of all higher candidates. With it, the second pass begins, and writes the costs.

    Parameters
    ----------
    build
        Sizes of the engine, with ``prices``.
    """

    build: SweepParameters

    def model(
        self,
        paid: NDArray[np.bool_],
        faces: NDArray[np.int64],
        q: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the costs and the lowest candidates, bit by bit.

        Parameters
        ----------
        paid
            bool, ``(N_k, N_z)``: where bonds are paid.
        faces
            int64, ``(N_k,)``: ``F``, in units of amount.
        q
            uint64, ``(N_z, N_z)``, unit ``2**-64``: ``beta Q``; a row belongs to today's state.

        Returns
        -------
        costs, lowest
            int64, ``(N_k, N_z)`` and ``(N_z,)``: ``G'`` in units of amount, and a grid index for each state. They apply
            only to states with mark ``PRICED``.
        """
        words = np.where(paid, faces[:, None], 0)
        costs, _ = LaneParameters(self.build).turns.model(words, q)
        return np.minimum.accumulate(costs[::-1])[::-1], costs.argmin(axis=0)

    def pass_clocks(self, points: int, states: int) -> int:
        """Return the clocks of one of the two passes over ``points`` points in the lane with the most."""
        lane = LaneParameters(self.build)
        turns = self.build.turns(states)
        last = (points * states - 1) * turns + (points - 1) * POINT_CLOCKS
        done = last + lane.to_turns + states * turns + lane.settle + 2
        # Registers from the decision to the lanes, and back through the tree that joins them.
        return 3 + done + join_clocks(self.build)

    def chain_clocks(self, states: int) -> int:
        """Return the clocks in which the smallest costs pass from the last lane to the first."""
        return states + self.build.lanes * LEAST_CLOCKS + _CHAIN_CLOCKS

    def clocks(self, points: int, states: int) -> int:
        """Return the clocks by which an update of prices makes a sweep longer.

        Parameters
        ----------
        points
            Points in the lane with the most.
        states
            ``N_z`` of the problem.
        """
        return 2 * self.pass_clocks(points, states) + self.chain_clocks(states)
