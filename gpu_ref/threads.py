"""Choose how many threads a problem is worth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from numba import get_num_threads, set_num_threads

THREADS_WORTH = 16_384
"""Number of states below which one thread is faster: such a sweep ends before a second thread has started."""


def threads_for(states: int) -> int:
    """Return how many of this process's threads to use for sweeps of ``states`` states."""
    return 1 if states < THREADS_WORTH else int(get_num_threads())


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the block with at most ``count`` threads of Numba."""
    before = get_num_threads()
    if count >= before:
        yield
        return
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)
