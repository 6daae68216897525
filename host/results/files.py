"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from beltline.host.problem.checks import ProblemError, shown


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
def replacing(target: Path, *, lasting: bool = False) -> Iterator[Path]:
    """Give the path of a temporary neighbour with the same suffix, which becomes ``target`` when the block ends well.

    When it does not, the neighbour is removed and ``target`` is as it was. ``lasting``: what it holds reaches the disk
    before its name does, so that a power cut, too, leaves all of it or nothing.
    """
    neighbour = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield neighbour
        if lasting:
            file = os.open(neighbour, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        os.replace(neighbour, target)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise
