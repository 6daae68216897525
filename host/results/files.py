"""Write files atomically: a file is complete or it does not exist."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from beltline.host.problem.checks import ProblemError, path_of
from beltline.sim.ctrl_c import handling
from beltline.sim.file_lock import lock, open_plain

PART = ".beltline-{}.part"
"""Name of a file while it is written; ``{}`` is replaced by a random text that cannot be guessed."""


def check_target(name: str, path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> Path:
    """Check that a file can be written to ``path``, and return it as a ``Path``; nothing is written.

    Parameters
    ----------
    name
        What messages call the argument, such as ``"out"``.
    path
        The file name.
    suffixes
        Endings that are accepted.

    Raises
    ------
    ProblemError
        The name has another ending, its directory does not exist or cannot be written to, or it is a directory itself.
    """
    target = path_of(name, path)
    if target.suffix.lower() not in suffixes:
        raise ProblemError(f"{name} must end in {' or '.join(suffixes)}, not {str(target)!r}")
    if not target.parent.is_dir():
        raise ProblemError(f"{name} {str(target)!r} is in a directory that does not exist")
    if target.is_dir():
        raise ProblemError(f"{name} {str(target)!r} is a directory")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ProblemError(f"{name} {str(target)!r} is in a directory that cannot be written to")
    return target


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a new binary file that replaces ``target`` when the block ends without an error.

    The content is brought to the disk before the file gets its name, so that after a power failure, too, ``target`` is
    either the complete old file or the complete new one. If the block raises an error, the new file is removed and
    ``target`` is unchanged; so it is on Ctrl-C, SIGTERM and SIGHUP. What a killed writer left in this directory
    is removed. Several threads and processes may write the same ``target``: each writes a file of its own, and the one
    that ends last replaces the others. Permissions follow the umask.

    Raises
    ------
    OSError
        The system could not write the file; the error names ``target``.
    KeyboardInterrupt
        On Ctrl-C, whatever the code in the block made of it.

    Examples
    --------
    >>> with replacing(Path("a.txt")) as file:  # doctest: +SKIP
    ...     file.write(b"complete or absent")
    """
    part: Path | None = None
    file: IO[bytes] | None = None
    handled = sys.exc_info()[1]
    with handling():
        try:
            _remove_stale(target.parent)
            while file is None:
                part = target.with_name(PART.format(secrets.token_hex(8)))
                try:
                    file = os.fdopen(open_plain(part, os.O_RDWR | os.O_CREAT | os.O_EXCL), "w+b")
                except FileExistsError:
                    part = None
                else:
                    file = _locked(file)
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                assert part is not None
                os.replace(part, target)
        except BaseException as error:
            if part is not None:
                with contextlib.suppress(OSError):
                    part.unlink()
            if any(isinstance(earlier, KeyboardInterrupt) for earlier in _causes(error, handled)):
                # As it was closed, a zip file made another error of it.
                raise KeyboardInterrupt from error
            if isinstance(error, OSError) and error.errno is not None:
                # Python's own error names no file, or the temporary one, which the user does not know.
                raise OSError(error.errno, error.strerror, str(target)) from error
            raise
        _settle(target.parent)


def _locked(file: IO[bytes]) -> IO[bytes] | None:
    """Lock a new temporary file, which says that its writer is at work; None if it was taken for stale before that."""
    try:
        lock(file.fileno())
    except BlockingIOError:
        # Another process has taken it for stale, and removes it now.
        file.close()
        return None
    except OSError:
        # Without locks files of others cannot be locked either, and none is removed.
        return file
    if os.fstat(file.fileno()).st_nlink:
        return file
    file.close()
    return None


def _remove_stale(folder: Path) -> None:
    """Remove temporary files whose writer has ended: no process has them locked."""
    for part in folder.glob(PART.format("*")):
        # Errors are those of links, of files of other users, and of files that another process removes now.
        with contextlib.suppress(OSError):
            entry = open_plain(part, os.O_RDWR)
            try:
                lock(entry)
                part.unlink()
            finally:
                os.close(entry)


def _causes(error: BaseException | None, last: BaseException | None) -> Iterator[BaseException]:
    """Return an iterator over an exception and those that were being handled when it was raised, without ``last``."""
    while error is not None and error is not last:
        yield error
        error = error.__context__


def _settle(folder: Path) -> None:
    with contextlib.suppress(OSError):
        entries = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(entries)
        finally:
            os.close(entries)
