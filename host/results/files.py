"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from beltline.host.problem.checks import ProblemError, shown

PART = ".beltline-{}.part"
"""Name of a file that is being written; what stands for ``{}`` cannot be guessed."""


def check_target(name: str, path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> Path:
    """Return ``path`` if a file of one of ``suffixes`` can be written there; nothing is written.

    Raises
    ------
    ProblemError
        Wrong suffix, no such directory, no right to write there, or a directory of that name.
    """
    if not isinstance(path, str | os.PathLike):
        raise ProblemError(f"{name} must be a file name, not {shown(path)}")
    target = Path(path)
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
    """Give a new binary file in the directory of ``target``, which becomes ``target`` when the block ends well.

    It reaches the disk before its name does, so that a power cut, too, leaves all of the new file or all of the old
    one. When the block fails, the new file is removed and ``target`` is as it was. Threads and processes that write the
    same target do not disturb each other: each has a file of its own, opened exclusively, and the last one stays.
    Permissions are those that the umask gives to a new file.

    Raises
    ------
    OSError
        The disk refused; the error has the name of ``target``.

    Examples
    --------
    >>> with replacing(Path("a.txt")) as file:  # doctest: +SKIP
    ...     file.write(b"all or nothing")
    """
    part: Path | None = None
    file: IO[bytes] | None = None
    try:
        while file is None:
            part = target.with_name(PART.format(secrets.token_hex(8)))
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                file = os.fdopen(os.open(part, flags, 0o666), "w+b")
            except FileExistsError:
                part = None
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        assert part is not None
        os.replace(part, target)
    except BaseException as error:
        if part is not None:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            # Python's own has no name, or that of a file that the user never heard of.
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    """Bring the names in a directory to the disk; where that is not possible, the system does it in its own time."""
    with contextlib.suppress(OSError):
        entries = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(entries)
        finally:
            os.close(entries)
