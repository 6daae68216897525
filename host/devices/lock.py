"""One process at a time for one board.

A board has one set of registers, and two programs that load it by turns would each get the other's numbers. So a
backend that opens a board first locks a file that stands for it. The kernel drops the lock when its holder closes the
file or dies, however it dies, so a lock is never left over; the file itself stays, because to delete it would let two
programs lock two files of one name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from pathlib import Path

from beltline.host.devices.base import DeviceError, DeviceInUseError

RUN = Path("/run/lock")
"""Where locks belong, on most systems: empty after a restart, and open to all users."""

OTHERWISE = Path("/tmp")
"""Where they go on a system that lets only root write there."""


def directory() -> Path:
    """Where the lock files are. It depends on the computer alone: not on the user, nor on the environment."""
    try:
        everyone = RUN.stat().st_mode & stat.S_IWOTH
    except OSError:
        return OTHERWISE
    return RUN if everyone else OTHERWISE


class BoardLock:
    """Exclusive use of one board, from the construction to :meth:`release` or the end of the process.

    A process that is forked meanwhile keeps the lock if this one dies, and cannot release it.

    Parameters
    ----------
    board
        Names the board on this computer, as in ``"f2-slot0"``: letters, digits, and ``.``, ``_``, ``-``.

    Raises
    ------
    DeviceInUseError
        Another process, or this one, holds it; the message names the process.
    DeviceError
        The file cannot be opened or locked, or is no file that could be ours.
    """

    def __init__(self, board: str) -> None:
        if not re.fullmatch(r"[\w.-]+", board, re.ASCII):
            raise ValueError(f"board must be named by letters, digits, '.', '_' and '-', not {board!r}")
        self.path = directory() / f"beltline-{board}.lock"
        self._file = _opened(self.path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            if not isinstance(error, BlockingIOError):
                raise DeviceError(f"lock file '{self.path}' cannot be locked: {error.strerror}") from None
            who = f"process {holder}" if holder.isdecimal() else "another process"
            if holder == str(os.getpid()):
                who = f"this process, {holder},"
            raise DeviceInUseError(f"device {board!r} is in use: {who} holds '{self.path}'") from None
        self._holder = os.getpid()
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{self._holder}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the board. Twice is no error."""
        if self._file >= 0:
            file, self._file = self._file, -1
            if os.getpid() == self._holder:
                # The next holder is told of by its own number, or by none, never by ours.
                os.ftruncate(file, 0)
                # Said, and not left to the closing, for a process that was forked meanwhile has the file open too.
                fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)

    def __del__(self) -> None:
        # An object whose construction failed has no file.
        with contextlib.suppress(AttributeError, OSError):
            self.release()


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            # Not created in the same call: in a directory open to all, some kernels refuse that for others' files.
            file = os.open(path, flags)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666))
                # Whatever the umask: the next user needs it too.
                os.chmod(path, 0o666)
            file = os.open(path, flags)
    except OSError as error:
        raise DeviceError(f"lock file '{path}' cannot be opened: {error.strerror}") from None
    wrong = _wrong(file)
    if wrong:
        os.close(file)
        raise DeviceError(f"lock file '{path}' cannot be used: {wrong}")
    return file


def _wrong(file: int) -> str:
    """Why an open file is not written to; empty for one that only ever was a lock.

    In a directory open to all, somebody may have given the name to a file of somebody else.
    """
    known = os.fstat(file)
    if not stat.S_ISREG(known.st_mode):
        return "it is no ordinary file"
    if known.st_nlink > 1:
        return "it is also known by another name (a hard link)"
    if known.st_size > 32 or not re.fullmatch(rb"(\d+\n)?", os.pread(file, 32, 0)):
        return "it holds something else than the number of a process"
    return ""
