"""Progress on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Literal

QUIET_SECONDS = 2.0
"""Work shorter than this shows nothing."""


class StatusLine:
    """A line on standard error that replaces itself; silent for two seconds, and where that is no terminal."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = False

    def __call__(self, text: str) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self._begin < QUIET_SECONDS:
            return
        self._write(text)
        self._shown = True

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            self._write("")
            self._shown = False

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


@contextlib.contextmanager
def reporting(progress: Callable[[str], None] | Literal[False] | None) -> Iterator[Callable[[str], None] | None]:
    """Give what is to be told of progress: the user's function, nothing for False, and by default a status line."""
    if progress is None:
        with contextlib.closing(StatusLine()) as line:
            yield line
    else:
        yield progress or None
