"""A clock that runs only when a test moves it."""

from __future__ import annotations


class FakeClock:
    """Stand in for the module ``time`` of a command; ``now`` is its time in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        """Return the time."""
        return self.now
