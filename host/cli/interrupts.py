"""Handling of Ctrl-C on the command line: it works at any time and prints no traceback.

Before a command begins its work there is nothing to save, and Ctrl-C ends the process at once, even during an import
(:func:`hear`). From :func:`begin_work` on, Ctrl-C raises ``KeyboardInterrupt`` as usual. During callbacks in which
Python cannot propagate an exception, as while modules are imported or functions compiled, it is raised again later.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

from beltline.sim.ctrl_c import ENDING, interrupt, send_again

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130
"""Exit code after an interrupt."""


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(2, b"beltline: interrupted\n")
    os._exit(INTERRUPTED)


def _again(lost: UnraisableHookArgs) -> None:
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    send_again()


def hear() -> bool:
    """Make Ctrl-C end this process at once. Return False, and change nothing, if Ctrl-C has another handler."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    signal.signal(signal.SIGINT, _end_at_once)
    sys.unraisablehook = _again
    return True


def begin_work() -> None:
    """Make Ctrl-C, SIGTERM and SIGHUP raise ``KeyboardInterrupt`` from now on, so that work is ended properly."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ENDING:
            # ``nohup`` has SIGHUP ignored.
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, interrupt)


def end_work(code: int) -> None:
    """Make these signals end the process with its exit code, because only the exit of the interpreter remains."""

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(code)

    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
