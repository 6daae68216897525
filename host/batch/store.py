"""Storage of the results of a batch on disk, so that a batch that was interrupted continues where it ended.

A store is a directory. Each result is a file of its own, ``ab/abcdef....npz``, whose name is the :func:`key` of the
problem and its options; :func:`beltline.host.results.load.load` reads it. A file is written under a temporary name,
flushed to the disk and renamed, so that it is complete or absent even if the process is killed. ``index.jsonl`` has a
line for each result, to look results up. Nothing depends on it, and it is rebuilt from the files if it does not match
them. Only one process at a time can write.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, path_of, shown
from beltline.host.problem.problem import Problem
from beltline.host.results import archive, record
from beltline.host.results.files import PART, replacing
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.sim.file_lock import lock, open_plain

FORMAT = 2
"""Version of the store and its keys. Files of version 1 had no checksum."""

MARK = "beltline-store.json"
"""Name of the file by which a store is recognized."""

INDEX = "index.jsonl"
LOCK = "lock"

_KINDS = (record.KIND, record.SIMPLE, record.GENERAL)


def key(problem: Problem, options: Mapping[str, Any]) -> str:
    """Return the key of a result: the SHA-256, in hexadecimal digits, of everything that determines it.

    That is the tables and numbers that solvers read, and ``options``. Names, labels and parameters of a problem do not
    change its key.
    """
    arrays, numbers = _general_parts(problem) if problem.general else _simple_parts(problem)
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    digest.update(json.dumps([[FORMAT, *numbers], sorted(options.items())], default=repr).encode())
    return digest.hexdigest()


def _simple_parts(problem: Problem) -> tuple[list[NDArray[Any]], list[Any]]:
    """Return the tables and numbers that determine the solution of a problem of the simple form."""
    arrays = [problem.grid, problem.wealth, problem.transition, problem.start]
    return arrays, [problem.beta.hex(), problem.eta.hex(), problem.horizon]


def _general_parts(problem: Problem) -> tuple[list[NDArray[Any]], list[Any]]:
    """Return those of a problem of the general form: the tables that its solver reads, however it was written."""
    arrays = [problem.grid, problem.start]
    regimes: list[Any] = []
    for one in problem.form.alternatives:
        tables = [field.name for field in fields(one) if field.name not in ("name", "regime")]
        arrays += [np.asarray(getattr(one, name)) for name in tables]
        regimes.append([one.regime, tables])
    return arrays, ["general", problem.eta.hex(), problem.taste.hex(), problem.negative, problem.horizon, regimes]


class Store:
    """A directory with the results of batches, from which they can be loaded again.

    Pass it, or its path, as ``store=`` to :func:`beltline.solve_many`.

    Parameters
    ----------
    path : path
        Directory of a store, or a directory that is empty or does not exist. It becomes a store when the first result
        is written.

    Raises
    ------
    ProblemError
        The directory contains other files, or a store of another version.

    Examples
    --------
    >>> import beltline as bl
    >>> attempts = list(bl.solve_many([bl.rbc(grid=64)], device="cpu", store="runs"))
    >>> store = bl.Store("runs")
    >>> len(store), store.index()[0]["status"]
    (1, 'converged')
    >>> store.load(attempts[0].key).success
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path_of("store", path, "the path of a directory")
        self._writing = False
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise ProblemError(f"store {str(self.path)!r} is in a directory that does not exist")
            return
        if not self.path.is_dir():
            raise ProblemError(f"store {str(self.path)!r} is a file, not a directory")
        mark = self.path / MARK
        if not mark.exists():
            # The lock, and perhaps the unfinished mark, of a process that was killed as it made the store.
            if any(name != LOCK and not Path(name).match(PART.format("*")) for name in os.listdir(self.path)):
                raise ProblemError(
                    f"store {str(self.path)!r} is a directory with other files and without {MARK}: name a new or empty "
                    f"one"
                )
            return
        try:
            with os.fdopen(open_plain(mark, os.O_RDONLY)) as file:
                known = json.load(file)["format"]
        except (OSError, RecursionError, ValueError, TypeError, KeyError):
            raise ProblemError(
                f"store {str(self.path)!r} has a {MARK} that was not written by Beltline: name a new or empty directory"
            ) from None
        if known != FORMAT:
            raise ProblemError(f"store {str(self.path)!r} has format {shown(known)}, not {FORMAT}: name a new one")

    def __contains__(self, key: str) -> bool:
        return self.file(key).exists()

    def __len__(self) -> int:
        return sum(1 for _ in self.keys())

    def keys(self) -> Iterator[str]:
        """Return an iterator over the keys of all results, in no particular order."""
        if not self.path.is_dir():
            return
        for folder in os.scandir(self.path):
            if len(folder.name) == 2 and folder.is_dir():
                for entry in os.scandir(folder.path):
                    if entry.name.endswith(".npz") and not entry.name.startswith("."):
                        yield entry.name.removesuffix(".npz")

    def file(self, key: str) -> Path:
        """Return the path of the file of a result, whether it exists or not.

        Raises
        ------
        ProblemError
            ``key`` is not a key, 64 hexadecimal digits.
        """
        if not isinstance(key, str) or not re.fullmatch("[0-9a-f]{64}", key):
            raise ProblemError(f"key must be the 64 hexadecimal digits of a result, not {shown(key)}")
        return self.path / key[:2] / f"{key}.npz"

    def load(self, key: str) -> Result:
        """Return the result of a key, with its problem.

        Raises
        ------
        ProblemError
            There is no such result, or its file is damaged.
        """
        found = self._read(key, None)
        if found is None:
            raise ProblemError(f"store {str(self.path)!r} has no result {shown(key)}")
        return found

    def get(self, key: str, problem: Problem) -> Result | None:
        """Return the result of ``problem``, which has this key; None if it is not stored.

        Raises
        ------
        ProblemError
            The file is damaged, or was not written for this key.
        """
        return self._read(key, problem)

    def _read(self, key: str, problem: Problem | None) -> Result | None:
        """Return the result of a key, with ``problem`` or else the problem in the file; None if it is not stored."""
        file = self.file(key)
        try:
            with archive.reading(file) as stored:
                if stored.kind not in _KINDS or stored.facts.get("key") != key:
                    raise archive.FileError(repr(str(file)), "does not contain the result of this key")
                found = record.read(stored, problem)
                if found.value.shape[-2:] != (found.problem.points, found.problem.states):
                    raise archive.FileError(repr(str(file)), "contains the result of another problem")
                return found
        except FileNotFoundError:
            return None
        except archive.FileError as error:
            raise ProblemError(
                f"{str(file)!r} is not a file that this store wrote (it {error.reason}): "
                f"delete it, and its problem is solved again"
            ) from error

    def put(self, key: str, result: Result) -> None:
        """Write a result to the store, within :meth:`writing`.

        A run that was stopped is not stored: another run of the same problem would give another result.

        Raises
        ------
        OSError
            The disk could not be written to; the store is unchanged.
        """
        if not self._writing:
            raise RuntimeError(
                f"store {str(self.path)!r} is not open for writing: put() belongs in `with store.writing():`"
            )
        if result.status == Outcome.STOPPED:
            return
        target = self.file(key)
        target.parent.mkdir(exist_ok=True)
        if target.parent.is_symlink():
            raise OSError(errno.ELOOP, "it is a link", str(target.parent))
        # Not compressed: compression takes ten times as long and hardly makes values smaller.
        facts = {"key": key, **record.facts_of(result)}
        archive.write(target, record.KIND, facts, record.arrays_of(result), packed=False)
        line = (json.dumps(_line(key, result)) + "\n").encode()
        # A single write in append mode, so that lines of several writers cannot mix. A line that is missing is found.
        with contextlib.suppress(OSError):
            index = open_plain(self.path / INDEX, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(index, line)
            finally:
                os.close(index)

    def index(self) -> list[dict[str, Any]]:
        """Return a dictionary for each result: all facts except its arrays.

        The entries are ``key``, ``file`` (relative to the store), ``name``, ``beta`` (None if it is a table), ``eta``,
        ``horizon``, ``parameters``, ``status``, ``success``, ``sweeps``, ``residual``, ``error_bound``, ``device``,
        ``method`` and ``change``.
        """
        lines = self._lines()
        return lines if len(lines) == len(self) else self._read_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Open the store for writing during the block, and make the directory a store if it is not one yet.

        Raises
        ------
        ProblemError
            Another process is writing to it, or the directory cannot be written to.
        """
        try:
            self.path.mkdir(exist_ok=True)
            for entry in os.scandir(self.path):
                if entry.is_symlink() or (entry.name in (MARK, INDEX, LOCK) and not _plain(self.path / entry.name)):
                    raise ProblemError(
                        f"store {str(self.path)!r} has a {entry.name} that leads elsewhere, which another user may "
                        "have made it: delete it, or name a directory in which only you can write"
                    )
            held = open_plain(self.path / LOCK, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise ProblemError(f"store {str(self.path)!r} cannot be written to: {error.strerror}") from None
        try:
            try:
                lock(held)
            except BlockingIOError:
                raise ProblemError(f"store {str(self.path)!r} is being written to by another batch") from None
            except OSError as error:
                raise ProblemError(f"store {str(self.path)!r} cannot be locked: {error.strerror}") from None
            if not (self.path / MARK).exists():
                try:
                    with replacing(self.path / MARK) as file:
                        file.write((json.dumps({"format": FORMAT}) + "\n").encode())
                except OSError as error:
                    raise ProblemError(f"store {str(self.path)!r} cannot be written to: {error.strerror}") from None
            # No other process writes, so these temporary files were left by one that was killed.
            for part in self.path.glob(f"??/{PART.format('*')}"):
                with contextlib.suppress(OSError):
                    part.unlink()
            if len(self._lines()) != len(self):
                # Readers do without it.
                with contextlib.suppress(OSError):
                    self.rebuild()
            self._writing = True
            yield
        finally:
            self._writing = False
            os.close(held)

    def rebuild(self) -> None:
        """Write the index again from the files of the results."""
        lines = "".join(json.dumps(line) + "\n" for line in self._read_all())
        with replacing(self.path / INDEX) as file:
            file.write(lines.encode())

    def _read_all(self) -> list[dict[str, Any]]:
        return [_line(key, self.load(key)) for key in sorted(self.keys())]

    def _lines(self) -> list[dict[str, Any]]:
        """Return the valid lines of the index whose file exists, one for each key."""
        found: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(OSError):
            with os.fdopen(open_plain(self.path / INDEX, os.O_RDONLY)) as file:
                lines = file.read().splitlines()
            for text in lines:
                # A power failure can leave a line incomplete.
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    line = json.loads(text)
                    if line["key"] in self:
                        found[line["key"]] = line
        return list(found.values())


def _plain(path: Path) -> bool:
    """Return whether a file is regular and has no other name."""
    try:
        os.close(open_plain(path, os.O_RDONLY))
    except OSError:
        return False
    return True


_REPORTED = ("status", "success", "sweeps", "residual", "error_bound", "device", "method")


def _line(key: str, result: Result) -> dict[str, Any]:
    problem = result.problem
    return {
        "key": key,
        "file": f"{key[:2]}/{key}.npz",
        "name": problem.name,
        # None if it is a table.
        "beta": problem.beta if isinstance(problem.beta, float) else None,
        "eta": problem.eta,
        "horizon": problem.horizon,
        "parameters": dict(problem.parameters),
        **{name: getattr(result, name) for name in _REPORTED},
        # Files of earlier versions do not have it for all problems.
        "change": None if math.isnan(result.change) else result.change,
    }
