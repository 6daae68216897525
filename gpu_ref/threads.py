"""Choose how many threads a problem is worth."""

from __future__ import annotations

from numba import get_num_threads, set_num_threads

THREADS_WORTH = 16_384
"""Number of states below which one thread is faster: such a sweep ends before a second thread has started."""


def threads_for(states: int) -> int:
    """Return how many of this process's threads to use for sweeps of ``states`` states."""
    return 1 if states < THREADS_WORTH else int(get_num_threads())


class threads:
    """Run a ``with`` block with at most ``count`` threads of Numba."""

    # A class, because a generator takes longer, and small solves have several such blocks.

    __slots__ = ("_before", "_count")

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> None:
        self._before = get_num_threads()
        if self._count < self._before:
            set_num_threads(self._count)

    def __exit__(self, *exception: object) -> None:
        if self._count < self._before:
            set_num_threads(self._before)
