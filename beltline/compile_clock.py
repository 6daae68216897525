"""How long compilation has taken in this process, and whom to tell that it begins; without loading the compiler."""

from __future__ import annotations

import time
from collections.abc import Callable

TEXT = "compiling (once; later solves use the stored code)"


class CompileClock:
    """Adds up the seconds of compilations; one that begins within another belongs to it.

    Attributes
    ----------
    seconds
        Wall-clock seconds of all compilations that have ended.
    report
        Called with a line of progress when a compilation begins, unless None.
    """

    def __init__(self) -> None:
        self.seconds = self._begin = 0.0
        self.report: Callable[[str], None] | None = None
        self.depth = 0

    def begin(self) -> None:
        """Note that a compilation begins."""
        self.depth += 1
        if self.depth == 1:
            self._begin = time.perf_counter()
            if self.report:
                self.report(TEXT)

    def end(self) -> None:
        """Note that the last one that has begun has ended."""
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self._begin


clock = CompileClock()
"""That of this process."""
