"""Display of progress on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

QUIET_SECONDS = 2.0
"""Work that takes less time than this displays nothing."""


def _notebook() -> Any:
    """Return IPython's display module if this process is the kernel of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return importlib.import_module("IPython.display") if getattr(shell, "kernel", None) is not None else None


class StatusLine:
    """A line of text on a terminal, or in a notebook's cell, that each call replaces.

    Nothing is displayed in the first two seconds, or if there is neither a terminal nor a notebook. After two seconds a
    terminal shows the last line, even if no other follows for long.
    """

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = self._closed = False
        self._notebook = _notebook()
        self._cell: Any = None
        self._last = ""
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None

    def __call__(self, text: str) -> None:
        if not (self._notebook or sys.stderr.isatty()):
            return
        with self._lock:
            self._last = text
            if time.monotonic() - self._begin >= QUIET_SECONDS:
                self._show()
            elif self._timer is None and not self._notebook:
                self._timer = threading.Timer(QUIET_SECONDS, self._show)
                self._timer.daemon = True
                self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if not self._closed:
                self._write(self._last)
                self._shown = True

    def close(self) -> None:
        """Remove the line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._shown:
                self._write("")
            self._shown, self._closed = False, True

    def _write(self, text: str) -> None:
        if self._notebook is not None:
            data = {"text/plain": text}
            if self._cell is None:
                self._cell = self._notebook.display(data, raw=True, display_id=True)
            else:
                self._cell.update(data, raw=True)
            return
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


@contextlib.contextmanager
def reporting(progress: Callable[[str], None] | Literal[False] | None) -> Iterator[Callable[[str], None] | None]:
    """Yield the function to call with lines of progress, as a context manager.

    It is ``progress`` itself if that is a function, and None if ``progress`` is False. If ``progress`` is None, it
    shows a status line on the terminal or in the notebook, which is removed at the end.
    """
    if progress is None:
        with contextlib.closing(StatusLine()) as line:
            yield line
    else:
        yield progress or None
