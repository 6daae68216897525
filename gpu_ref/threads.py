"""How many threads a problem is worth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from numba import get_num_threads, set_num_threads

THREADS_WORTH = 16_384
"""States below which a sweep is over before a second thread has woken."""


def threads_for(states: int) -> int:
    """How many of this process's threads to use for sweeps of so many states."""
    return 1 if states < THREADS_WORTH else int(get_num_threads())


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the block on ``count`` threads."""
    before = get_num_threads()
    if count >= before:
        yield
        return
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)
