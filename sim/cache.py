"""Compiled simulations are kept in a per-user cache, and appear there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from beltline.sim import guard

Progress = Callable[[str], None]
"""Called with a short line about what is going on; a later line replaces an earlier one."""

QUIET_SECONDS = 2.0
"""Work shorter than this reports no progress."""


class SimulationError(RuntimeError):
    """The gateware could not be compiled, or its simulation broke."""


def cache_directory() -> Path:
    """Return the directory of compiled simulations, made if need be.

    It is ``$BELTLINE_CACHE``, else ``$XDG_CACHE_HOME/beltline``, else ``~/.cache/beltline``.

    Raises
    ------
    SimulationError
        It cannot be made, or its name contains a space.
    """
    if chosen := os.environ.get("BELTLINE_CACHE"):
        path = Path(chosen)
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beltline"
    path = path.expanduser().absolute()
    if any(character.isspace() for character in str(path)):
        raise SimulationError(
            f"GNU Make cannot build in {str(path)!r} because of the space in its name: "
            "set BELTLINE_CACHE to a directory without one"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimulationError(
            f"cannot make the cache directory {path} ({error.strerror}): set BELTLINE_CACHE to a writable one"
        ) from None
    return path


def digest(*parts: str) -> str:
    """Return a hash of ``parts`` fit for a file name; their boundaries count."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode()
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()[:32]


def jobs() -> int:
    """Return how many compilations to run at once: one a core this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def _locked(path: Path, progress: Progress | None) -> Iterator[None]:
    with open(path, "w") as lock:
        started = time.monotonic()
        told = QUIET_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if progress and waited >= told + 1:
                    told = waited
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
    """Return the directory ``name-key`` of the cache, built once.

    Parameters
    ----------
    name, key
        What it is, and a ``digest`` of everything that decides its content.
    build
        Fills the empty directory that it is given. When it raises, nothing is kept.
    progress
        Told about a wait for another process that builds the same.
    directory
        The cache, ``cache_directory()`` by default.

    Two processes may ask for the same at the same time: one builds, the other waits. A build that is interrupted or
    killed leaves nothing that a later call would take for complete.
    """
    directory = directory or cache_directory()
    final = directory / f"{name}-{key}"
    if final.is_dir():
        return final
    with _locked(directory / f"{name}-{key}.lock", progress):
        if final.is_dir():
            return final
        # The lock is held, so a directory of this name is what a killed process left.
        partial = directory / f"{name}-{key}.building"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            build(partial)
            partial.rename(final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return final


def guarded(command: Sequence[str], parent: int | None = None) -> list[str]:
    """Return what runs ``command`` and ends it, with all that it started, when this process is gone, even if killed.

    Parameters
    ----------
    command
    parent
        Process to look for, by default this one; 0 for the one that runs what is returned.
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
    """Run ``command`` in ``directory``, its output appended to ``log``, reporting ``doing`` and the seconds since
    ``started``. It ends with this process, and at an interrupt, with all that it started.

    Raises
    ------
    FileNotFoundError
        There is no such command.
    subprocess.CalledProcessError
        It failed.
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
            told = QUIET_SECONDS
            while True:
                try:
                    process.wait(timeout=0.25)
                    break
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - started
                    if progress and elapsed >= told + 1:
                        told = elapsed
                        progress(f"{doing}: {elapsed:.0f} s")
        except BaseException:
            # Not killed at once: it ends the command and its children when it is asked to end.
            process.terminate()
            try:
                process.wait(timeout=2 * guard.KILL_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
