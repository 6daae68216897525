"""Read an HDF5 file in a process of its own, with limits of time and memory.

HDF5 may loop for ever, allocate without end or crash if a file is damaged, whatever checksum the file has. Here that
ends a child process only. :mod:`beltline.host.results.netcdf` starts it as a program, with the name of the file and
Python's path as arguments. It imports nothing of the package, so that it starts in a fifth of a second.

It prints an empty object when it is ready, then one line of JSON with the texts and the tables of the file. It reads
one line with the names of the wanted tables, and prints for each an empty object on a line, then its bytes. After a
line with ``error`` nothing follows.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Any

SECONDS = 3
"""Processor time in which a file must be opened and its content listed."""

SPEED = 2**25
"""Bytes of tables for which one more second is allowed."""

ROOM = 2**28
"""Bytes of memory allowed in addition to the tables."""


def limit(size: int) -> None:
    """Let the system end this process if it takes more time or memory than ``size`` bytes of tables need."""
    try:
        import resource
    except ModuleNotFoundError:
        # On Windows the parent process ends this one, later.
        return
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(time.process_time()) + SECONDS + size // SPEED}
    with contextlib.suppress(FileNotFoundError), open("/proc/self/statm", encoding="ascii") as file:
        limits[resource.RLIMIT_AS] = int(file.read().split()[0]) * resource.getpagesize() + ROOM + 2 * size
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def say(message: object) -> None:
    """Send one line to the parent process."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def main(path: str) -> None:
    """Serve the content of one file to the parent process."""
    import h5py
    import numpy as np

    def table(name: str) -> Any:
        # Checked before the link is followed, because it may lead to another file.
        data = file[name] if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
        return None if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual else data

    say({})
    limit(0)
    with open(path, "rb") as content, h5py.File(content, "r") as file:
        texts = {name: file.attrs[name] for name in ("about", "checksum") if name in file.attrs}
        tables = {name: table(name) for name in file}
        say(
            {
                "texts": {name: text if isinstance(text, str) else None for name, text in texts.items()},
                "tables": {
                    name: data if data is None else (data.dtype.str, data.shape) for name, data in tables.items()
                },
            }
        )
        for name in json.loads(sys.stdin.buffer.readline() or b"[]"):
            limit(tables[name].nbytes)
            array = np.ascontiguousarray(tables[name][()])
            say({})
            sys.stdout.buffer.write(array.reshape(-1).view(np.uint8).data)


if __name__ == "__main__":
    sys.path[:] = sys.argv[2:]
    try:
        main(sys.argv[1])
    except Exception as error:
        say({"error": " ".join(str(error).split()) or type(error).__name__})
