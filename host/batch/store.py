"""Results of a batch on disk, so that a run that was killed goes on where it was.

A store is a directory. Each result is a file of its own, ``ab/abcdef....npz``, which
:func:`beltline.host.results.load.load` reads and whose name is the :func:`key` of what was solved. A file is written
beside its place, flushed to the disk, and renamed: it is there whole or not at all, whoever is killed meanwhile.
``index.jsonl`` has a line for each, to look results up by; nothing rests on it, and it is made anew from the files
where it is not theirs. One process at a time writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.problem import Problem
from beltline.host.results import archive, general_record, record
from beltline.host.results.files import PART, replacing
from beltline.host.results.general_result import GeneralResult
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.results.save import content

FORMAT = 2
"""Version of a store, and of its keys. Files of version 1 had no checksum."""

MARK = "beltline-store.json"
"""What tells a store from any other directory."""

INDEX = "index.jsonl"
LOCK = "lock"

_READERS: dict[str, Callable[..., Result | GeneralResult]] = {
    record.KIND: record.read,
    general_record.KIND: general_record.read,
}


def key(problem: Problem, options: Mapping[str, Any]) -> str:
    """SHA-256 of what decides the answer: the tables and numbers that solvers read, and ``options``; in hex digits.

    Names, labels and parameters of a problem are not among them.
    """
    arrays, numbers = _general_parts(problem) if problem.general else _simple_parts(problem)
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    digest.update(json.dumps([[FORMAT, *numbers], sorted(options.items())], default=repr).encode())
    return digest.hexdigest()


def _simple_parts(problem: Problem) -> tuple[list[NDArray[Any]], list[Any]]:
    """Tables and numbers that decide the solution of a problem of the simple form."""
    arrays = [problem.grid, problem.wealth, problem.transition, problem.start]
    return arrays, [problem.beta.hex(), problem.eta.hex(), problem.horizon]


def _general_parts(problem: Problem) -> tuple[list[NDArray[Any]], list[Any]]:
    """Those of one of the general form: however it was written, the tables that its solver reads."""
    arrays = [problem.grid, problem.start]
    regimes: list[Any] = []
    for one in problem.form.alternatives:
        tables = [field.name for field in fields(one) if field.name not in ("name", "regime")]
        arrays += [np.asarray(getattr(one, name)) for name in tables]
        regimes.append([one.regime, tables])
    return arrays, ["general", problem.eta.hex(), problem.taste.hex(), problem.negative, problem.horizon, regimes]


class Store:
    """A directory of results, by :func:`key`.

    Parameters
    ----------
    path
        Of a store, or of a directory that is empty or not there yet, which becomes one when it is first written to.

    Raises
    ------
    ProblemError
        It is something else, or a store of another version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ProblemError(f"store must be the path of a directory, not {shown(path)}")
        self.path = Path(path)
        self._writing = False
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise ProblemError(f"store {str(self.path)!r} is in a directory that does not exist")
            return
        if not self.path.is_dir():
            raise ProblemError(f"store {str(self.path)!r} is a file, not a directory")
        mark = self.path / MARK
        if not mark.exists():
            if any(entry.name != LOCK for entry in os.scandir(self.path)):
                raise ProblemError(
                    f"store {str(self.path)!r} is a directory of other things, without {MARK}: name a new or empty one"
                )
            return
        try:
            known = json.loads(mark.read_text())["format"]
        except (ValueError, TypeError, KeyError):
            raise ProblemError(f"store {str(self.path)!r} has a {MARK} that no store has") from None
        if known != FORMAT:
            raise ProblemError(f"store {str(self.path)!r} has format {shown(known)}, not {FORMAT}: name a new one")

    def __contains__(self, key: str) -> bool:
        return self.file(key).exists()

    def __len__(self) -> int:
        return sum(1 for _ in self.keys())

    def keys(self) -> Iterator[str]:
        """Keys of all results, in no order."""
        if not self.path.is_dir():
            return
        for folder in os.scandir(self.path):
            if len(folder.name) == 2 and folder.is_dir():
                for entry in os.scandir(folder.path):
                    if entry.name.endswith(".npz") and not entry.name.startswith("."):
                        yield entry.name.removesuffix(".npz")

    def file(self, key: str) -> Path:
        """Where the result of a key is, or would be."""
        return self.path / key[:2] / f"{key}.npz"

    def load(self, key: str) -> Result | GeneralResult:
        """Return a result with the problem that it was solved of.

        Raises
        ------
        ProblemError
            There is none of that key, or its file is none of ours.
        """
        found = self._read(key, None)
        if found is None:
            raise ProblemError(f"store {str(self.path)!r} has no result {shown(key)}")
        return found

    def get(self, key: str, problem: Problem) -> Result | GeneralResult | None:
        """Return the result of ``problem``, whose key this is; None if it is not stored.

        Raises
        ------
        ProblemError
            The file is not one that was written for this key.
        """
        return self._read(key, problem)

    def _read(self, key: str, problem: Problem | None) -> Result | GeneralResult | None:
        """The result of a key, with ``problem`` or that of the file; None if it is not stored."""
        file = self.file(key)
        try:
            with archive.reading(file) as stored:
                if stored.kind not in _READERS or stored.facts.get("key") != key:
                    raise archive.FileError(repr(str(file)), "holds something else")
                found = _READERS[stored.kind](stored, problem)
                if found.value.shape[-2:] != (found.problem.points, found.problem.states):
                    raise archive.FileError(repr(str(file)), "holds the result of another problem")
                return found
        except FileNotFoundError:
            return None
        except archive.FileError as error:
            raise ProblemError(
                f"{str(file)!r} is not a file that this store wrote (it {error.reason}): "
                f"delete it, and its problem is solved again"
            ) from error

    def put(self, key: str, result: Result | GeneralResult) -> None:
        """Keep a result, within :meth:`writing`. What only chance decided, a run that somebody stopped, is not kept.

        Raises
        ------
        OSError
            The disk refused; the store is as it was.
        """
        if not self._writing:
            raise RuntimeError("a store is written to within `with store.writing():`")
        if result.status == Outcome.STOPPED:
            return
        target = self.file(key)
        target.parent.mkdir(exist_ok=True)
        # Not compressed: that takes ten times as long, and values hardly shrink.
        kind, facts, arrays = content(result)
        archive.write(target, kind, {"key": key, **facts}, arrays, packed=False)
        line = (json.dumps(_line(key, result)) + "\n").encode()
        # One write at the end of the file: of two lines none is between the other.
        index = os.open(self.path / INDEX, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(index, line)
        finally:
            os.close(index)

    def index(self) -> list[dict[str, Any]]:
        """What is known of each result but its arrays: ``key``, ``file``, parameters, and how the run went."""
        lines = self._lines()
        return lines if len(lines) == len(self) else self._read_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Make the directory a store if it is none yet, and let nobody else write meanwhile.

        Raises
        ------
        ProblemError
            Another process writes to it, or it cannot be written to.
        """
        try:
            self.path.mkdir(exist_ok=True)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise ProblemError(f"store {str(self.path)!r} cannot be written to: {error.strerror}") from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ProblemError(f"store {str(self.path)!r} is being written to by another batch") from None
            if not (self.path / MARK).exists():
                with replacing(self.path / MARK) as file:
                    file.write((json.dumps({"format": FORMAT}) + "\n").encode())
            # Nobody else writes, so they were left by one that was killed.
            for part in self.path.glob(f"??/{PART.format('*')}"):
                part.unlink(missing_ok=True)
            if len(self._lines()) != len(self):
                self.rebuild()
            self._writing = True
            yield
        finally:
            self._writing = False
            os.close(lock)

    def rebuild(self) -> None:
        """Make the index anew from the files."""
        lines = "".join(json.dumps(line) + "\n" for line in self._read_all())
        with replacing(self.path / INDEX) as file:
            file.write(lines.encode())

    def _read_all(self) -> list[dict[str, Any]]:
        return [_line(key, self.load(key)) for key in sorted(self.keys())]

    def _lines(self) -> list[dict[str, Any]]:
        """The lines of the index that are whole, one a key, and whose file is there."""
        found: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError):
            for text in (self.path / INDEX).read_text().splitlines():
                # A line that was being written when somebody pulled the plug is none.
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    line = json.loads(text)
                    if line["key"] in self:
                        found[line["key"]] = line
        return list(found.values())


_REPORTED = ("status", "success", "sweeps", "residual", "error_bound", "device", "method")


def _line(key: str, result: Result | GeneralResult) -> dict[str, Any]:
    problem = result.problem
    measured = {} if isinstance(result, GeneralResult) else {"change": result.change}
    return {
        "key": key,
        "file": f"{key[:2]}/{key}.npz",
        "name": problem.name,
        # None where it is a table.
        "beta": problem.beta if isinstance(problem.beta, float) else None,
        "eta": problem.eta,
        "horizon": problem.horizon,
        "parameters": dict(problem.parameters),
        **{name: getattr(result, name) for name in _REPORTED},
        **measured,
    }
