"""Let every system call of every writer fail once, each in a process of its own, and look at what is on the disk.

Run as a program with ``failing_calls.c`` preloaded: ``python -m support.failing_calls FOLDER``.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import beltline as bl
from beltline.host.batch.store import Store
from beltline.host.results.files import PART
from beltline.sim.cache import SimulationError, cached
from support.files import KEY, WRITERS, content, small

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR, "kill": 0}
WORDS = b"the whole content of an entry of the cache"


def entry(_: Any, folder: Path) -> Path:
    """Write an entry of the cache."""

    def build(place: Path) -> None:
        (place / "a.txt").write_bytes(WORDS)
        (place / "inner").mkdir()
        (place / "inner" / "b.txt").write_bytes(WORDS)

    return cached("entry", "0", build, directory=folder)


TARGETS: dict[str, Callable[[Path], Path]] = {
    "npz": lambda folder: folder / "result.npz",
    "nc": lambda folder: folder / "result.nc",
    "checkpoint": lambda folder: folder / "checkpoint.npz",
    "store": lambda folder: Store(folder / "store").file(KEY),
    "cache": lambda folder: folder / "entry-0",
}
"""What each writes."""

STALE = PART.format("stale")
"""Name of what a writer that was killed has left."""

ENDINGS = (".part", ".building")
"""Ends of names of what is not complete."""

KINDS: dict[str, Callable[[Any, Path], Path]] = WRITERS | {"cache": entry}


def attempt(kind: str, folder: Path, result: Any, nth: int, error: int) -> tuple[str, str]:
    """Write in another process, whose system call ``nth`` fails; return how that ended, and the names of its calls."""
    ends = os.pipe()
    number = os.fork()
    if not number:
        layer = ctypes.CDLL(None)
        layer.calls.restype = ctypes.c_char_p
        layer.arm(os.fsencode(folder), nth, error)
        try:
            KINDS[kind](result, folder)
            said = "written"
        except OSError as failed:
            # A folder, or the file to be written: no temporary one, which the user does not know.
            name = str(failed.filename)
            said = "OSError" if name.startswith(str(folder)) and not name.endswith(ENDINGS) else f"raw: {failed!r}"
        except (bl.ProblemError, SimulationError) as failed:
            said = "sentence" if str(failed).isprintable() else f"raw: {failed!r}"
        except BaseException as failed:
            said = f"raw: {failed!r}"
        os.write(ends[1], json.dumps([said, layer.calls().decode()]).encode())
        os._exit(0)
    os.close(ends[1])
    with open(ends[0], "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(number, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}", ""
    said, calls = json.loads(text)
    return said, calls


def complete(kind: str, path: Path, result: Any) -> Any:
    """Return the whole content of a file or an entry; None if it does not exist. Anything else raises an error."""
    if not path.exists():
        return None
    if kind != "cache":
        return content(kind, path, result)
    assert [(path / name).read_bytes() for name in ("a.txt", "inner/b.txt")] == [WORDS] * 2
    return WORDS


def parts(folder: Path) -> list[str]:
    """Return the names of what is not complete in a folder."""
    return [name for _, folders, names in os.walk(folder) for name in (*folders, *names) if name.endswith(ENDINGS)]


def run(kind: str, again: bool, place: Path, old: Any, new: Any) -> dict[str, Any]:
    """Let each call fail in each way; ``again`` if there is an old and a stale file. Return the counts of the ends."""
    base, trial = place / "base", place / "trial"
    base.mkdir(parents=True)
    if again:
        KINDS[kind](old, base)
        (TARGETS[kind](base).parent / STALE).touch()
    before = complete(kind, TARGETS[kind](base), old)
    shutil.copytree(base, trial)
    said, calls = attempt(kind, trial, new, 0, 0)
    assert said == "written", said
    after = complete(kind, TARGETS[kind](trial), new)
    found: dict[str, Any] = {"calls": sorted(set(calls.split())), "runs": 0, "wrong": []}
    for nth, name in enumerate(calls.split(), 1):
        for word, error in ERRORS.items():
            shutil.rmtree(trial)
            shutil.copytree(base, trial)
            said, _ = attempt(kind, trial, new, nth, error)
            path, left = TARGETS[kind](trial), parts(trial)
            at_once = complete(kind, path, new)
            KINDS[kind](new, trial)
            right = {
                "ended": said in (("signal 9",) if word == "kill" else ("written", "OSError", "sentence")),
                "old or new": at_once in ((after,) if said == "written" else (before, after)),
                "nothing left": word == "kill" or left in ([], [STALE]),
                "new after the next": complete(kind, path, new) == after and not parts(trial),
            }
            found["runs"] += 1
            if not all(right.values()):
                found["wrong"].append([nth, name, word, said, [what for what, is_so in right.items() if not is_so]])
    return found


def main(folder: Path) -> None:
    """Print the counts of every kind of file as JSON."""
    new = small()
    old = replace(new, message="An older result.")
    found = {
        f"{kind}, {'again' if again else 'first'}": run(kind, again, folder / kind / str(again), old, new)
        for kind in KINDS
        for again in (False, True)
        if not (again and kind == "cache")
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
