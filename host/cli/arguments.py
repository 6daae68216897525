"""What is typed on the command line, checked before any work."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import NoReturn

# Checks of problems are imported where they are needed: they take a moment, and `beltline --help` needs none.

REFUSED = 2
"""Exit code."""

LONGEST_NAME = 200
"""Bytes of the name of a file to write; file systems have 255, of which the temporary neighbour takes some."""

LONGEST_SENTENCE = 400


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without what a terminal would act on."""

    def error(self, message: str) -> NoReturn:
        """End with a sentence and exit code 2."""
        line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message)
        if len(line) > LONGEST_SENTENCE:
            line = f"{line[: LONGEST_SENTENCE - 3]}..."
        self.exit(REFUSED, f"{self.prog}: {line}\n")


def file_name(text: str) -> Path:
    """Return the path of a file that is read.

    Raises
    ------
    argparse.ArgumentTypeError
        It can be none.
    """
    from beltline.host.problem.checks import shown

    path = Path(text)
    if not path.name or "\0" in text:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not the name of a file")
    return path


def new_file_name(text: str) -> Path:
    """Return the path of a file that is written.

    Raises
    ------
    argparse.ArgumentTypeError
        It can be none.
    """
    from beltline.host.problem.checks import shown

    path = file_name(text)
    if (length := len(os.fsencode(path.name))) > LONGEST_NAME:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is a name of {length} bytes, and files are written under at most {LONGEST_NAME}"
        )
    return path


def kind_name(text: str) -> str:
    """Return the name of a kind of figure, which becomes part of a file's name.

    Raises
    ------
    argparse.ArgumentTypeError
        It can be none.
    """
    from beltline.host.problem.checks import shown

    if not text.isidentifier() or len(text) > LONGEST_NAME // 4:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no kind of figure")
    return text


def check_output(given: argparse.Namespace) -> None:
    """Check where the files of a solve go: ``out``, ``plot`` with its ``kind``, and ``checkpoint`` if there is one.

    Raises
    ------
    ProblemError
        One cannot be written, or there is a kind of figure and no figure.
    """
    from beltline.host.problem.checks import ProblemError

    if given.kind is not None and given.plot is None:
        raise ProblemError("--kind is what --plot draws: add --plot")
    for name in ("out", "plot", "checkpoint"):
        check_writable(name, getattr(given, name, None))


def check_writable(name: str, path: Path | None) -> None:
    """Check that files can be made in the folder of ``path``, by making one that has no name or loses it at once.

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
    except OSError as error:
        raise ProblemError(f"{name} {shown(str(path))} cannot be written: {error.strerror}") from None
