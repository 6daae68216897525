"""Ctrl-C on the command line: heard at any time, never lost, and no traceback.

Before a command begins its work there is nothing to save, and the process ends at once, in the middle of an import or
not (:func:`hear`). From :func:`begin_work` on, Ctrl-C is an exception as usual; where Python cannot pass it on, in the
callbacks with which modules are imported and functions compiled, it is raised anew.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130
"""Exit code."""

AGAIN_SECONDS = 0.05
"""Until an interrupt that was lost in a callback is raised anew."""


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(2, b"beltline: interrupted\n")
    os._exit(INTERRUPTED)


def _again(lost: UnraisableHookArgs) -> None:
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    # To the main thread, which may wait for something by now.
    timer = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.daemon = True
    timer.start()


def hear() -> bool:
    """Have Ctrl-C end this process at once, unless it is ignored here; whether it is not."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    signal.signal(signal.SIGINT, _end_at_once)
    sys.unraisablehook = _again
    return True


def begin_work() -> None:
    """Have Ctrl-C raise ``KeyboardInterrupt`` from here on, so that what began can end in order."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_work(code: int) -> None:
    """Have Ctrl-C end the process with its exit code: what is left is the end of the interpreter."""

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(code)

    signal.signal(signal.SIGINT, end)
