"""Distribute problems over the multiprocessors of a device."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """How problems are distributed over a device.

    Attributes
    ----------
    threads
        Threads of a block.
    resident
        Blocks that share a multiprocessor.
    blocks
        Blocks of a team, which solves one problem at a time.
    teams
        Number of teams that work side by side.
    points
        Largest number of grid points of a thread.
    span
        Grid points of a block.
    """

    threads: int
    resident: int
    blocks: int
    teams: int
    points: int
    span: int


def layout(
    points: int,
    states: int,
    problems: int,
    processors: int,
    *,
    blocks: int | None = None,
    threads: int | None = None,
    resident: int = 1,
) -> Layout:
    """Choose a :class:`Layout`.

    A single problem is distributed over all multiprocessors, except on small grids, where a barrier between blocks
    would cost more than they save. In a batch, the fewer blocks a problem has, the less it waits for others.

    Parameters
    ----------
    points, states
        ``N_k`` and ``N_z``.
    problems
        Number of problems.
    processors
        Multiprocessors of the device.
    blocks, threads, resident
        Override these choices.
    """
    most = threads or (512 if states <= 8 else 256 if states <= 24 else 128)
    room = processors * resident
    if blocks is None:
        if problems == 1:
            blocks = 1 if points <= most else math.ceil(points / (most // 2))
        else:
            blocks = math.ceil(points / (2 * most))
    blocks = max(1, min(blocks, room, points))
    span = math.ceil(points / blocks)
    blocks = math.ceil(points / span)
    # Powers of two from 256 on, so that few kernels have to be compiled.
    used = min(most, max(256, 1 << (span - 1).bit_length()))
    return Layout(used, resident, blocks, max(1, min(problems, room // blocks)), math.ceil(span / used), span)
