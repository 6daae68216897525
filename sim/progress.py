"""Progress on a terminal, and in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

QUIET_SECONDS = 2.0
"""Work shorter than this shows nothing."""


def _notebook() -> Any:
    """IPython's module that displays, where this process is the kernel of a notebook; otherwise None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return importlib.import_module("IPython.display") if getattr(shell, "kernel", None) is not None else None


class StatusLine:
    """A line that replaces itself, on a terminal or in the output of a notebook's cell; silent for two seconds."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = False
        self._notebook = _notebook()
        self._cell: Any = None

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._begin < QUIET_SECONDS or not (self._notebook or sys.stderr.isatty()):
            return
        self._write(text)
        self._shown = True

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            self._write("")
            self._shown = False

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
    """Give what is to be told of progress: the user's function, nothing for False, and by default a status line."""
    if progress is None:
        with contextlib.closing(StatusLine()) as line:
            yield line
    else:
        yield progress or None
