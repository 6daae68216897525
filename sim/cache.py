"""Per-user cache of compiled simulations. An entry is complete or does not exist, also after a crash."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from beltline.ownership import foreign
from beltline.sim import guard
from beltline.sim.file_lock import lock, open_plain

Progress = Callable[[str], None]
"""Function that is called with a line of text about the work in progress; each line replaces the one before."""

UNSAFE = re.compile(r"[^\w/.+@-]", re.ASCII)
"""Matches a character that Make, its shell, or Verilator's rules for Make do not take as a part of a name."""

QUIET_SECONDS = 2.0
"""Work that takes less time than this reports no progress."""


class SimulationError(RuntimeError):
    """The gateware could not be compiled, or its simulation failed."""


def cache_directory() -> Path:
    """Return the directory of compiled simulations; create it if it does not exist.

    It is ``$BELTLINE_CACHE``, else ``$XDG_CACHE_HOME/beltline``, else ``~/.cache/beltline``.

    Raises
    ------
    SimulationError
        The directory cannot be created, others could put programs into it, or Make cannot build in one of its name.
    """
    try:
        chosen = os.environ.get("BELTLINE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "beltline"
        path = Path(chosen).expanduser().absolute()
    except RuntimeError:
        raise SimulationError(
            "this user has no home directory for compiled simulations: set BELTLINE_CACHE to a directory for them"
        ) from None
    if odd := UNSAFE.search(str(path)):
        raise SimulationError(
            f"GNU Make cannot build in {str(path)!r} because of the character {odd[0]!r} in its name: "
            "set BELTLINE_CACHE to a directory of ASCII letters, digits and / . _ - + @"
        )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = foreign(path)
    except OSError as error:
        raise SimulationError(
            f"cannot make the cache directory {path} ({error.strerror}): set BELTLINE_CACHE to a writable one"
        ) from None
    # What is found there is run.
    if others:
        raise SimulationError(
            f"programs in {path} could be another user's, who owns it or can write there: "
            "set BELTLINE_CACHE to a directory that is yours alone"
        )
    return path


def digest(*parts: str) -> str:
    """Return a hash of ``parts``, 32 hexadecimal digits. It depends on the boundaries of the parts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode()
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()[:32]


def jobs() -> int:
    """Return the number of compilations to run at once: the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def _locked(path: Path, progress: Progress | None) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path``; report the time that it waits for another process."""
    with os.fdopen(open_plain(path, os.O_RDWR | os.O_CREAT)) as file:
        started = time.monotonic()
        reported = QUIET_SECONDS
        while True:
            try:
                lock(file.fileno())
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if progress and waited >= reported + 1:
                    reported = waited
                    progress(f"waiting for another process to finish the same build: {waited:.0f} s")
                time.sleep(0.1)
        yield


def cached(
    name: str,
    key: str,
    build: Callable[[Path], None],
    *,
    progress: Progress | None = None,
    directory: Path | None = None,
) -> Path:
    """Return the directory ``name-key`` of the cache; build it if it does not exist.

    If two processes call this for the same directory at the same time, one builds it and the other waits. A build that
    is interrupted or killed leaves no directory of this name.

    Parameters
    ----------
    name
        Kind of the content.
    key
        A :func:`digest` of everything that determines the content.
    build
        Function that fills the empty directory that is passed to it. If it raises an error, the directory is deleted.
    progress
        Called with a line of text while another process builds the same directory.
    directory
        Directory of the cache; by default ``cache_directory()``.

    Raises
    ------
    SimulationError
        The disk is full, or a file cannot be written for another reason.
    """
    directory = directory or cache_directory()
    final = directory / f"{name}-{key}"
    if final.is_dir():
        return final
    try:
        _build(final, build, progress)
    except OSError as error:
        if error.errno is None:
            raise
        raise SimulationError(
            f"cannot write to the cache directory {directory} ({error.strerror}): set BELTLINE_CACHE to a writable one"
        ) from error
    return final


def _build(final: Path, build: Callable[[Path], None], progress: Progress | None) -> None:
    """Build a directory of the cache while no other process does."""
    with _locked(final.with_name(f"{final.name}.lock"), progress):
        if final.is_dir():
            return
        # As this process holds the lock, a directory of this name was left by a process that was killed.
        partial = final.with_name(f"{final.name}.building")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir()
            build(partial)
            partial.rename(final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def guarded(command: Sequence[str], parent: int | None = None) -> list[str]:
    """Return a command that runs ``command`` and stops it, with all its child processes, when the parent has ended.

    This also works if the parent is killed.

    Parameters
    ----------
    command
        The command and its arguments.
    parent
        Number of the parent process: by default this process; 0 for the process that runs the returned command.
    """
    return [sys.executable, "-I", "-S", guard.__file__, str(os.getpid() if parent is None else parent), *command]


def run_tool(
    command: Sequence[str],
    *,
    directory: Path,
    log: Path,
    environment: Mapping[str, str],
    doing: str,
    progress: Progress | None = None,
    started: float | None = None,
) -> None:
    """Run a command and wait for it. It and its child processes are stopped when this process ends or is interrupted.

    Parameters
    ----------
    command
        The command and its arguments.
    directory
        Its working directory.
    log
        File to which its output is appended.
    environment
        Its environment.
    doing
        Description of the work for ``progress``.
    progress
        Called with ``doing`` and the elapsed seconds.
    started
        Time of ``time.monotonic()`` from which the seconds are counted; by default now.

    Raises
    ------
    FileNotFoundError
        The command does not exist.
    subprocess.CalledProcessError
        The command failed.
    """
    started = time.monotonic() if started is None else started
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        raise FileNotFoundError(f"there is no command {command[0]!r}")
    with open(log, "ab") as output:
        output.write(f"$ {' '.join(command)}\n".encode())
        output.flush()
        process = subprocess.Popen(
            guarded(command),
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            reported = QUIET_SECONDS
            while True:
                try:
                    process.wait(timeout=0.25)
                    break
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - started
                    if progress and elapsed >= reported + 1:
                        reported = elapsed
                        progress(f"{doing}: {elapsed:.0f} s")
        except BaseException:
            # SIGTERM first: on it the guard stops the command and its children.
            process.terminate()
            try:
                process.wait(timeout=2 * guard.KILL_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
