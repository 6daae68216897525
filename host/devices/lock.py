"""Exclusive use of a board: only one process at a time can open it.

A board has one set of registers, so two programs that used it in turn would get each other's results. Therefore a lock
file for the board is locked before the board is opened. The kernel releases the lock when the process closes the file
or ends in any way, so that no lock remains. The file itself is not deleted: otherwise two programs could lock two
different files of the same name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path

from beltline.host.devices.base import DeviceError, DeviceInUseError
from beltline.sim.file_lock import lock, open_plain, unlock

RUN = Path("/run/lock")
"""Directory for lock files on most systems: empty after a restart, and writable by all users."""

OTHERWISE = Path("/tmp")
"""Directory for lock files on a system where only root can write to ``RUN``."""


def directory() -> Path:
    """Return the directory of the lock files. It is the same for all users and does not depend on the environment."""
    try:
        everyone = RUN.stat().st_mode & stat.S_IWOTH
    except OSError:
        return OTHERWISE
    return RUN if everyone else OTHERWISE


class BoardLock:
    """Exclusive use of one board, from construction to :meth:`release` or the end of the process.

    A process that is forked in between keeps the lock if this process dies, and cannot release it.

    Parameters
    ----------
    board
        Name of the board on this computer, as in ``"f2-slot0"``: letters, digits, ``.``, ``_`` and ``-``.

    Raises
    ------
    DeviceInUseError
        Another process, or this one, has the lock; the message names the process.
    DeviceError
        The file cannot be opened or locked, or is not a lock file.
    """

    def __init__(self, board: str) -> None:
        if not re.fullmatch(r"[\w.-]+", board, re.ASCII):
            raise ValueError(f"board must be named by letters, digits, '.', '_' and '-', not {board!r}")
        self.path = directory() / f"beltline-{board}.lock"
        self._file = _opened(self.path)
        try:
            lock(self._file)
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
        """Release the board for other processes. Releasing twice is fine."""
        if self._file >= 0:
            file, self._file = self._file, -1
            if os.getpid() == self._holder:
                # So that a message about the next process with the lock never shows the id of this one.
                os.ftruncate(file, 0)
                # Closing the file is not enough: a process that was forked in between has it open, too.
                unlock(file)
            os.close(file)

    def __del__(self) -> None:
        # An object whose construction failed has no file.
        with contextlib.suppress(AttributeError, OSError):
            self.release()


def _opened(path: Path) -> int:
    try:
        try:
            # Opened without O_CREAT first: in a directory that all can write to, some kernels refuse O_CREAT for a file
            # of another user.
            file = open_plain(path, os.O_RDWR)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.close(open_plain(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
                # Independent of the umask, because other users must be able to lock it, too.
                os.chmod(path, 0o666)
            file = open_plain(path, os.O_RDWR)
    except OSError as error:
        done = "used" if error.errno == errno.EMLINK else "opened"
        raise DeviceError(f"lock file '{path}' cannot be {done}: {error.strerror}") from None
    if os.fstat(file).st_size > 32 or not re.fullmatch(rb"(\d+\n)?", os.pread(file, 32, 0)):
        os.close(file)
        raise DeviceError(f"lock file '{path}' cannot be used: it contains something other than a process id")
    return file
