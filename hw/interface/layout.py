"""Where the states of a problem lie in the table windows of a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Table


@dataclass(frozen=True)
class Words:
    """Neighbouring words: ``count`` of them from word ``window`` of a window, from word ``table`` in table order."""

    window: int
    table: int
    count: int

    def of(self, words: NDArray[Any]) -> NDArray[Any]:
        """These words of a window, no copy."""
        return words[self.window : self.window + self.count]


@dataclass(frozen=True)
class Layout:
    """Where the tables of a problem lie in the windows of a build.

    In table order state ``(x, s)`` is word ``x * N_z + s``, and point ``x`` is word ``x`` of ``X``. The assembly line
    has its tables in that order, and ``X`` filled up to its whole grid. The windows of a sweep engine, but for ``Q``,
    are ``L`` equal blocks, one for each lane. Lane ``l`` has the points from ``l * lane_points`` on, of which block
    ``l`` holds the words in table order, from its beginning. A problem as large as the build lies in table order.

    A build with costs has as many words of ``X`` for a point as it has exogenous states, whatever the problem's
    ``N_z``: what ``x'`` costs in state ``s`` is word ``x' * STATES_MAX + s``.

    Parameters
    ----------
    build
    grid, states
        ``N_k`` and ``N_z`` of the problem, which fits the build.
    """

    build: MachineParameters
    grid: int
    states: int

    @property
    def lane_points(self) -> int:
        """Points of a lane: the least power of two, and at least ``ROW_WORDS``, for which the lanes hold the grid."""
        points = ROW_WORDS
        while points * self.build.lanes < self.grid:
            points *= 2
        return points

    def blocks(self, table: Table) -> tuple[Words, ...]:
        """Where the words of ``table``, which is not ``Q``, lie: as few blocks as there can be, in table order."""
        build = self.build
        if table is Table.X and build.features.padded:
            return (Words(0, 0, build.grid),)
        words, block = self.states, build.grid * build.states
        if table is Table.X:
            words, block = (build.states, block) if build.features.costs else (1, build.grid)
        share, block = self.lane_points * words, block // build.lanes
        total = self.grid * words
        if share == block or build.lanes == 1:
            return (Words(0, 0, total),)
        lanes = range(-(-total // share))
        return tuple(Words(lane * block, lane * share, min(share, total - lane * share)) for lane in lanes)
