"""Ctrl-C while compiled code runs."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

CALLBACKS = frozenset({"_numba_unpickle", "_raw_object_cache_getbuffer", "_raw_object_cache_notify"})
"""Python functions that compiled code or the compiler calls, and in which an exception is lost or ends the process."""

AGAIN_SECONDS = 0.02
"""Seconds after which an interrupt that arrived in one of these is sent again."""


def send_again() -> None:
    """Send the signal to the main thread again, a little later."""
    main = threading.main_thread().ident
    assert main is not None
    again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
    again.daemon = True
    again.start()


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``, as Python does on Ctrl-C, but later if compiled code is returning its results.

    Numba calls a Python function to make an array of the results. An interrupt that arrived while the compiled code
    ran would be raised in it, and end in a ``SystemError`` or a segmentation fault.
    """
    at = frame
    while at is not None:
        if at.f_code.co_name in CALLBACKS:
            send_again()
            return
        at = at.f_back
    raise KeyboardInterrupt


def interruptible(function: Function) -> Function:
    """Let Ctrl-C end a function that calls compiled code by ``KeyboardInterrupt``, at whatever moment it arrives.

    This works in the main thread, and only if no other handler of the signal is installed; otherwise nothing changes.
    """

    @wraps(function)
    def called(*arguments: Any, **more: Any) -> Any:
        if (
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            or threading.current_thread() is not threading.main_thread()
        ):
            return function(*arguments, **more)
        hook = sys.unraisablehook

        def lost(unraisable: Any) -> None:
            # In other callbacks, as of finalizers, Python cannot raise it either.
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                send_again()
            else:
                hook(unraisable)

        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = lost
        try:
            return function(*arguments, **more)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = hook

    return cast(Function, called)
