"""Ctrl-C and SIGTERM: both raise ``KeyboardInterrupt``, but never within an import or a callback of compiled code.

After SIGTERM, which batch systems and containers send, the process ends as soon as the work in progress is cleaned up.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType, ModuleType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

CALLBACKS = frozenset({"_numba_unpickle", "_raw_object_cache_getbuffer", "_raw_object_cache_notify"})
"""Python functions that compiled code or the compiler calls, and in which an exception is lost or ends the process."""

IMPORT = "<frozen importlib._bootstrap>"
"""File of the frames of an import: an exception would leave modules half imported, and later imports of them fail."""

AGAIN_SECONDS = 0.02
"""Seconds after which an interrupt that arrived in one of these is sent again."""

TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM."""

_USUAL: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""The handlers that this module replaces; a program that has others wants to handle the signal itself."""


class _State:
    number = signal.SIGINT
    """The last signal."""

    imports = 0
    """Number of imports in progress when the handlers were installed, as of a script that solves while imported."""


def terminated() -> bool:
    """Return whether the last interrupt was SIGTERM."""
    return _State.number == signal.SIGTERM


def send_again() -> None:
    """Send the last signal to the main thread again, a little later."""
    main = threading.main_thread().ident
    assert main is not None
    again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, _State.number))
    again.daemon = True
    again.start()


def note(number: int) -> None:
    """Note which signal arrived. SIGTERM remains noted: Ctrl-C after it does not keep the process."""
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
    raise KeyboardInterrupt


@contextlib.contextmanager
def handling(handler: Callable[[int, FrameType | None], None] = interrupt) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM call ``handler`` during the block; SIGTERM ends the process after the outermost one.

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
        _State.number, _State.imports = signal.SIGINT, _imports(sys._getframe())
    try:
        sys.unraisablehook = lost
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, held in before.items():
            signal.signal(number, held)
        sys.unraisablehook = hook
        if terminated() and before.get(signal.SIGTERM) is signal.SIG_DFL:
            os.kill(os.getpid(), signal.SIGTERM)
            # The first process of a container survives this.
            sys.exit(TERMINATED)


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
