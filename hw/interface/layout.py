"""Layout of a problem's tables in the table windows of a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Table


@dataclass(frozen=True)
class Words:
    """A block of consecutive words that are in table order in their window.

    Parameters
    ----------
    window
        Its first word in the window.
    table
        The same word's number in table order.
    count
        Number of words.
    """

    window: int
    table: int
    count: int

    def of(self, words: NDArray[Any]) -> NDArray[Any]:
        """Return these words of a window's ``words``, without a copy."""
        return words[self.window : self.window + self.count]


@dataclass(frozen=True)
class Layout:
    """Layout of the tables of a problem in the windows of a build.

    In table order, state ``(x, s)`` is word ``x * N_z + s`` of a table, and point ``x`` is word ``x`` of ``X``. The
    assembly line stores tables in this order, with ``X`` filled up to the build's grid. Each window of a sweep engine,
    except ``Q``, consists of equal blocks, one for each lane. Lane ``l`` has ``lane_points`` points from point
    ``l * lane_points`` on. Their words are in block ``l``, from its beginning, in table order. If the problem is as
    large as the build, the whole window is in table order.

    A general build has a word of ``X`` for each point and each exogenous state of the build, whatever the problem's
    ``N_z``: the cost of ``x'`` in state ``s`` is word ``x' * STATES_MAX + s`` of table order. The second half of its
    window ``X`` has the bounds of each state's choice, in blocks like those of ``W``.

    Parameters
    ----------
    build
        The build.
    grid, states
        ``N_k`` and ``N_z`` of the problem, which must fit the build.
    """

    build: MachineParameters
    grid: int
    states: int

    @property
    def lane_points(self) -> int:
        """Points of a lane: the least power of two, and at least ``ROW_WORDS``, with which the lanes hold the grid."""
        points = ROW_WORDS
        while points * self.build.lanes < self.grid:
            points *= 2
        return points

    def blocks(self, table: Table) -> tuple[Words, ...]:
        """Return the blocks of ``table``, other than ``Q``, in its window: as few as possible, in table order."""
        build = self.build
        if table is Table.X and not build.is_sweep:
            return (Words(0, 0, build.grid),)
        words, block = self.states, build.grid * build.states
        if table is Table.X:
            words, block = (build.states, block) if build.general else (1, build.grid)
        share, block = self.lane_points * words, block // build.lanes
        total = self.grid * words
        if share == block or build.lanes == 1:
            return (Words(0, 0, total),)
        lanes = range(-(-total // share))
        return tuple(Words(lane * block, lane * share, min(share, total - lane * share)) for lane in lanes)

    @property
    def bounds(self) -> tuple[Words, ...]:
        """The blocks of the table of bounds (:mod:`beltline.hw.interface.bounds`) in window ``X``, in table order."""
        half = self.build.grid * self.build.states
        return tuple(Words(half + one.window, one.table, one.count) for one in self.blocks(Table.W))
