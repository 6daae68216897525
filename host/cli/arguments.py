"""Parsing and checks of arguments of the command line, before any work."""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, NoReturn

from beltline.host.cli.output import complain, say

# Checks of problems are imported where they are needed: that takes a moment, and `beltline --help` needs none.

REFUSED = 2
"""Exit code for input that was refused."""

LONGEST_NAME = 200
"""Longest name of a file to write, in bytes. File systems allow 255, and the name of the temporary file is longer."""

LONGEST_SENTENCE = 400
"""Longest message of the parser, in characters."""


class _Lines(argparse.HelpFormatter):
    """A formatter of help texts that begins a new line where a text does."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        # A method of argparse that its own formatters override, too. Continued lines are indented by two columns.
        lines: list[str] = []
        for line in text.splitlines():
            first, *more = textwrap.wrap(line, width, subsequent_indent="  ")
            lines += [first, *more]
        return lines


class Parser(argparse.ArgumentParser):
    """An argument parser whose error messages are one line without control characters.

    A new line in a help text is printed as one.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Lines, **options})

    def _print_message(self, message: str, file: Any = None) -> None:
        # The one of argparse hides that help cannot be written.
        if file is sys.stdout:
            say(message, end="")
        else:
            complain(message, end="")

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message)
        if len(line) > LONGEST_SENTENCE:
            line = f"{line[: LONGEST_SENTENCE - 3]}..."
        self.exit(REFUSED, f"{self.prog}: {line}\n")


def file_name(text: str) -> Path:
    """Return the path of a file to read.

    Raises
    ------
    argparse.ArgumentTypeError
        ``text`` cannot be the name of a file.
    """
    from beltline.host.problem.checks import shown

    path = Path(text)
    if not path.name or "\0" in text:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not the name of a file")
    return path


def directory_name(text: str) -> Path:
    """Return the path of a directory, such as ``.``.

    Raises
    ------
    argparse.ArgumentTypeError
        ``text`` cannot be the name of a file or directory.
    """
    return Path(text) if text and "\0" not in text else file_name(text)


def new_file_name(text: str) -> Path:
    """Return the path of a file to write.

    Raises
    ------
    argparse.ArgumentTypeError
        ``text`` cannot be the name of a file, or is too long.
    """
    from beltline.host.problem.checks import shown

    path = file_name(text)
    if (length := len(os.fsencode(path.name))) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is a name of {length} bytes, longer than the {LONGEST_NAME} that are accepted"
        )
    return path


def kind_name(text: str) -> str:
    """Return the name of a kind of figure, which may become part of the name of a file.

    Raises
    ------
    argparse.ArgumentTypeError
        ``text`` cannot be such a name.
    """
    from beltline.host.problem.checks import shown

    if not text.isidentifier() or len(text) > LONGEST_NAME // 4:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a kind of figure")
    return text


def check_any_kind(kind: str | None) -> None:
    """Check that there are results that have figures of this kind, before a result is loaded.

    Raises
    ------
    ProblemError
        No result has such figures.
    """
    from beltline.host.problem.checks import ProblemError, shown
    from beltline.host.results.services import service, services

    known: dict[str, None] = {}
    for name in services():
        if name.endswith(".plot"):
            plot = service(name)
            known |= dict.fromkeys(getattr(plot, "kinds", ()) or getattr(sys.modules[plot.__module__], "KINDS", ()))
            if kind is None or kind in known:
                return
    raise ProblemError(f"kind must be one of {', '.join(map(repr, known))} that the result has, not {shown(kind)}")


def check_output(given: argparse.Namespace) -> None:
    """Check the files that a solve will write: ``out``, ``plot`` with its ``kind``, and ``checkpoint``.

    Raises
    ------
    ProblemError
        One cannot be written, two are the same file, or ``--kind`` is given without ``--plot``.
    """
    from beltline.host.problem.checks import ProblemError, shown

    if given.kind is not None and given.plot is None:
        raise ProblemError("--kind needs --plot, whose figure it selects")
    found: dict[str, str] = {}
    for name in ("out", "plot", "checkpoint"):
        path = getattr(given, name, None)
        check_writable(name, path)
        if path is not None and (other := found.setdefault(os.path.realpath(path), name)) != name:
            raise ProblemError(f"{name} {shown(str(path))} is the same file as {other}: give each a name of its own")


def check_writable(name: str, path: Path | None) -> None:
    """Check that a file can be written to ``path``: a temporary one is created in its directory, and an old one opened.

    A file without write permission counts as writable, because it is replaced and not changed; not so in a directory
    such as ``/tmp``, in which only the owner of a file can replace it.

    Raises
    ------
    ProblemError
        They cannot.
    """
    from beltline.host.problem.checks import ProblemError, shown

    if path is None:
        return
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.is_file():
            _check_replaceable(path)
    except OSError as error:
        raise ProblemError(f"{name} {shown(str(path))} cannot be written: {error.strerror}") from None


def _check_replaceable(path: Path) -> None:
    """Raise ``OSError`` if another file cannot take the name of this one."""
    folder, user = path.parent.stat(), os.geteuid()
    if folder.st_mode & stat.S_ISVTX and user not in (0, folder.st_uid, path.lstat().st_uid):
        raise PermissionError(errno.EPERM, "only its owner can replace it in this directory")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    except PermissionError as error:
        if error.errno != errno.EACCES:
            raise
