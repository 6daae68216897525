"""Measure the parts of a solve."""

from __future__ import annotations

import time


class timed:
    """A ``with`` block whose seconds are added to ``seconds[part]``, also if it raises an error.

    >>> seconds = {}
    >>> with timed(seconds, "solve"):
    ...     pass
    >>> list(seconds)
    ['solve']
    """

    # A class, because a generator takes longer, and small solves have several such blocks.

    __slots__ = ("_begin", "_part", "_seconds")

    def __init__(self, seconds: dict[str, float], part: str) -> None:
        self._seconds, self._part = seconds, part

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._seconds[self._part] = self._seconds.get(self._part, 0.0) + time.perf_counter() - self._begin
