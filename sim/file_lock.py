"""Locks of files, which the kernel releases when the process closes the file or ends in any way."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def open_plain(path: Path, flags: int) -> int:
    """Return a descriptor of a file in a directory where other users may have planted something under its name.

    Parameters
    ----------
    path
        Name of the file.
    flags
        As of ``os.open``, without ``os.O_TRUNC``, which would act before the check.

    Raises
    ------
    OSError
        The name is a link, or that of something other than a regular file, or the file cannot be opened.
    """
    # Not blocking, as opening a pipe would wait for its other end.
    safe = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
    file = os.open(path, flags | safe, 0o666)
    known = os.fstat(file)
    wrong = "it is not a regular file" if not stat.S_ISREG(known.st_mode) else ""
    if known.st_nlink > 1:
        wrong = wrong or "it is also known by another name (a hard link)"
    if wrong:
        os.close(file)
        raise OSError(errno.EMLINK, wrong, str(path))
    return file


def lock(file: int) -> None:
    """Lock the open file of this descriptor for this process alone, without waiting for another one.

    Raises
    ------
    BlockingIOError
        Another process has locked it.
    OSError
        The file cannot be locked, or the system is Windows, which has no such locks.
    """
    try:
        # Imported here because Windows does not have it, and only boards, stores and builds need locks.
        import fcntl
    except ModuleNotFoundError:
        raise OSError(errno.ENOSYS, "this system has no locks of files (the module fcntl)") from None
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(file: int) -> None:
    """Release what :func:`lock` locked, also for processes that were forked in between and have the file open."""
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)
