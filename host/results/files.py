"""Write files atomically: a file is complete or it does not exist."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from beltline.host.problem.checks import ProblemError, path_of

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
    ``target`` is unchanged. Several threads and processes may write the same ``target``: each writes a file of its own,
    and the one that ends last replaces the others. Permissions follow the umask.

    Raises
    ------
    OSError
        The system could not write the file; the error names ``target``.

    Examples
    --------
    >>> with replacing(Path("a.txt")) as file:  # doctest: +SKIP
    ...     file.write(b"complete or absent")
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
            # Python's own error names no file, or the temporary one, which the user does not know.
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    with contextlib.suppress(OSError):
        entries = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(entries)
        finally:
            os.close(entries)
