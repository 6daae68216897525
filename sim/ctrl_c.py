"""Ctrl-C, SIGTERM and SIGHUP raise ``KeyboardInterrupt``, but never within an import or a callback of compiled code.

After SIGTERM, which batch systems and containers send, and SIGHUP, which a terminal sends when it is closed, the
process ends as soon as the work in progress is cleaned up.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType, ModuleType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

CALLBACKS = frozenset({"_numba_unpickle", "_raw_object_cache_getbuffer", "_raw_object_cache_notify"})
"""Python functions that compiled code or the compiler calls, and in which an exception is lost or ends the process."""

IMPORT = "<frozen importlib._bootstrap>"
"""File of the frames of an import: an exception would leave modules half imported, and later imports of them fail."""

ONCE_SECONDS = 1.0
"""Seconds in which further signals to end change nothing. A closed terminal and its shell both send one."""

AGAIN_SECONDS = 0.02
"""Seconds after which an interrupt that arrived in one of these is sent again."""

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals after which the process ends. Windows has no SIGHUP."""

_USUAL: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(ENDING, signal.SIG_DFL)}
"""The handlers that this module replaces; one with others wants to handle or, as ``nohup``, ignore it."""


class _State:
    number = signal.SIGINT
    """The last signal."""

    raised = -math.inf
    """When one that ends the process was raised, in seconds of ``time.monotonic``."""

    imports = 0
    """Number of imports in progress when the handlers were installed, as of a script that solves while imported."""


def terminated() -> int:
    """Return the exit code after the last interrupt if that ends the process, else 0."""
    return 128 + _State.number if _State.number in ENDING else 0


def send_again() -> None:
    """Send the last signal to the main thread again, a little later."""
    main = threading.main_thread().ident
    assert main is not None
    _State.raised = -math.inf
    again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, _State.number))
    again.daemon = True
    again.start()


def note(number: int) -> None:
    """Note which signal arrived. One that ends the process remains noted: Ctrl-C after it does not keep it."""
    if not terminated():
        _State.number = signal.Signals(number)


def _frames(frame: FrameType | None) -> Iterator[Any]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def _imports(frame: FrameType | None) -> int:
    return sum(code.co_filename == IMPORT for code in _frames(frame))


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``, as Python does on Ctrl-C, but later if the code in progress must not be left.

    Numba calls a Python function to make an array of the results. An interrupt that arrived while the compiled code
    ran would be raised in it, and end in a ``SystemError`` or a segmentation fault.
    """
    note(number)
    if any(code.co_name in CALLBACKS for code in _frames(frame)) or _imports(frame) > _State.imports:
        send_again()
        return
    if number in ENDING:
        now = time.monotonic()
        if now < _State.raised + ONCE_SECONDS:
            # It would interrupt what the first one has begun: to clean up.
            return
        _State.raised = now
    raise KeyboardInterrupt


@contextlib.contextmanager
def handling(handler: Callable[[int, FrameType | None], None] = interrupt) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP call ``handler`` during the block; the last two end the process after it.

    This works in the main thread, and for a signal only if no other handler is installed; otherwise nothing changes.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        known = {number: signal.getsignal(number) for number in _USUAL}
        before = {number: held for number, held in known.items() if held in (_USUAL[number], interrupt)}
    if not before:
        yield
        return
    hook = sys.unraisablehook

    def lost(unraisable: Any) -> None:
        # In other callbacks, as of finalizers, Python cannot raise it either.
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            send_again()
        else:
            hook(unraisable)

    if interrupt not in before.values():
        _State.number, _State.raised, _State.imports = signal.SIGINT, -math.inf, _imports(sys._getframe())
    try:
        sys.unraisablehook = lost
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, held in before.items():
            signal.signal(number, held)
        sys.unraisablehook = hook
        if terminated() and before.get(_State.number) is signal.SIG_DFL:
            os.kill(os.getpid(), _State.number)
            # The first process of a container survives this.
            sys.exit(terminated())


def interruptible(function: Function) -> Function:
    """Call a function within :func:`handling`: compiled code in it can be interrupted at whatever moment."""

    @wraps(function)
    def called(*arguments: Any, **more: Any) -> Any:
        with handling():
            return function(*arguments, **more)

    return cast(Function, called)


@interruptible
def import_whole(name: str) -> ModuleType:
    """Import a module, and let an interrupt wait until that has ended."""
    return importlib.import_module(name)
