"""Display of progress on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from beltline.compile_clock import clock

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
        self.shown = self._closed = False
        self._notebook = _notebook()
        self._cell: Any = None
        self._last = ""
        self._lock = threading.RLock()

    def __call__(self, text: str) -> None:
        if not (self._notebook or (sys.stderr is not None and sys.stderr.isatty())):
            return
        with self._lock:
            self._last = text
            self.show()
        if not self.shown and not self._notebook:
            _watch.over(self)

    def show(self) -> None:
        """Display the last text, unless it is too early or the line was closed."""
        with self._lock:
            if not self._closed and time.monotonic() - self._begin >= QUIET_SECONDS:
                self._write(self._last)
                self.shown = True

    def close(self) -> None:
        """Remove the line."""
        _watch.end(self)
        with self._lock:
            if self.shown:
                self._write("")
            self.shown, self._closed = False, True

    def _write(self, text: str) -> None:
        if self._notebook is not None:
            data = {"text/plain": text}
            if self._cell is None:
                self._cell = self._notebook.display(data, raw=True, display_id=True)
            else:
                self._cell.update(data, raw=True)
            return
        # A terminal that was closed must not end the work.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


class _Watch:
    """Shows the newest line on a terminal when its two seconds are over, from a thread of its own.

    The thread serves all lines, one after the other, and ends when no line is open: a thread for each would take as
    long as a short solve.
    """

    def __init__(self) -> None:
        self._line: StatusLine | None = None
        self._lock = threading.Lock()
        self._runs = False

    def over(self, line: StatusLine) -> None:
        """Begin to watch a line."""
        with self._lock:
            self._line = line
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, daemon=True).start()

    def end(self, line: StatusLine) -> None:
        """Do not watch the line any longer."""
        with self._lock:
            if self._line is line:
                self._line = None

    def _run(self) -> None:
        while True:
            time.sleep(QUIET_SECONDS / 8)
            with self._lock:
                line = self._line
                if line is None:
                    self._runs = False
                    return
            line.show()
            if line.shown:
                self.end(line)


_watch = _Watch()


@contextlib.contextmanager
def reporting(progress: Callable[[str], None] | Literal[False] | None) -> Iterator[Callable[[str], None] | None]:
    """Yield the function to call with lines of progress, as a context manager.

    It is ``progress`` itself if that is a function, and None if ``progress`` is False. If ``progress`` is None, it
    shows a status line on the terminal or in the notebook, which is removed at the end. It is also called when
    compilation begins.
    """
    outer = clock.report
    try:
        if progress is None:
            with contextlib.closing(StatusLine()) as line:
                clock.report = line
                yield line
        else:
            clock.report = progress or None
            yield clock.report
    finally:
        clock.report = outer
