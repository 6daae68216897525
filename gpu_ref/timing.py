"""Measure the parts of a solve: with blocks that are timed apart, or as parts that follow each other."""

from __future__ import annotations

import time
from collections.abc import Mapping

from beltline.compile_clock import clock

COMPILE = "compile"
"""Part that compilation is, whatever other part it occurs in."""


def _add(seconds: dict[str, float], part: str, spent: float, compiled: float) -> None:
    """Add the seconds ``spent``, of which ``compiled`` on compilation."""
    if compiled:
        seconds[COMPILE] = seconds.get(COMPILE, 0.0) + compiled
    seconds[part] = seconds.get(part, 0.0) + spent - compiled


class timed:
    """A ``with`` block whose seconds are added to ``seconds[part]``, also if it raises an error.

    Those of compilation are added to ``seconds["compile"]`` instead, here and in :class:`Parts`.

    >>> seconds = {}
    >>> with timed(seconds, "solve"):
    ...     pass
    >>> list(seconds)
    ['solve']
    """

    # A class, because a generator takes longer, and small solves have several such blocks.

    __slots__ = ("_begin", "_compiled", "_part", "_seconds")

    def __init__(self, seconds: dict[str, float], part: str) -> None:
        self._seconds, self._part = seconds, part

    def __enter__(self) -> None:
        self._begin, self._compiled = time.perf_counter(), clock.seconds

    def __exit__(self, *exception: object) -> None:
        spent = time.perf_counter() - self._begin
        _add(self._seconds, self._part, spent, clock.seconds - self._compiled)


class Parts:
    """Times parts that follow each other: each call adds the seconds since the one before to ``seconds[part]``.

    It takes less time than :class:`timed`, which matters in solves that take a few milliseconds.

    >>> parts = Parts()
    >>> parts("load")
    >>> list(parts.seconds)
    ['load']
    """

    __slots__ = ("_compiled", "_last", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last, self._compiled = time.perf_counter(), clock.seconds

    def __call__(self, part: str) -> None:
        now, compiled = time.perf_counter(), clock.seconds
        _add(self.seconds, part, now - self._last, compiled - self._compiled)
        self._last, self._compiled = now, compiled


def added(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of the parts of a second attempt, with those that the same parts of the first took.

    Compilation is a part of both.

    >>> added({"load": 1.0, "solve": 2.0}, {"solve": 0.5})
    {'solve': 2.5}
    """
    if COMPILE in before:
        after = {COMPILE: 0.0, **after}
    return {part: before.get(part, 0.0) + seconds for part, seconds in after.items()}
