"""Locks of files, which the kernel releases when the process closes the file or ends in any way."""

from __future__ import annotations

import errno


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
