"""What the command line prints. An output that cannot be written costs no result, and ends in one sentence."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, TextIO


class _State:
    failure: OSError | None = None
    """Why standard output could not be written."""


def occupy() -> None:
    """Give a closed standard stream a file that nothing can be written to, so that no other one gets its number.

    Otherwise a result would be opened under this number, and what a library prints be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def say(text: Any, end: str = "\n") -> None:
    """Print to standard output. A failure is reported by :func:`ended`, after the command has written its files."""
    if _State.failure is not None:
        return
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        # A name of a file need not be text of the terminal.
        coding = sys.stdout.encoding or "utf-8"
        print(str(text).encode(coding, "backslashreplace").decode(coding), end=end, flush=True)
    except OSError as error:
        _State.failure = error


def complain(text: str, end: str = "\n") -> None:
    """Print to the error output, if there is one."""
    # Python prints to standard output in place of None.
    if sys.stderr is not None:
        try:
            print(text, end=end, file=sys.stderr, flush=True)
        except OSError:
            _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Write what is left of an output nowhere. Python would fail again when it flushes that at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def ended(name: str, code: int) -> int:
    """Return the exit code of a command: not 0 if standard output, which a sentence names, could not be written.

    A pipe whose reader has ended, as ``head`` does, is no news to the user.
    """
    failure, _State.failure = _State.failure, None
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        failure = failure or error
    if failure is None:
        return code
    if sys.stdout is not None:
        _discard(sys.stdout)
    if not isinstance(failure, BrokenPipeError):
        complain(f"{name}: standard output cannot be written: {failure.strerror}")
    return code or 1
