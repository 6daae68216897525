"""Check that a solve fits into the memory of this computer, before anything is allocated."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

RESERVE = 2**28
"""Bytes left free for everything else."""

UNCHECKED = 2**20
"""Bytes below which nothing is checked, because that would take longer than a small solve."""


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
"""Files of a control group with its limit and its use of memory, and the entry of ``memory.stat`` for cached files."""

CGROUPS = Path("/sys/fs/cgroup")
"""Where control groups are mounted: those of version 2 here, of version 1 in ``memory``."""

PROCESS = Path("/proc/self")
"""Where the system describes this process."""


def available() -> int:
    """Return the bytes that this process can allocate without swapping; 0 if the system does not say.

    That is the least of what the computer has free, what the limits of a container or batch system (control groups)
    leave, and what limits of the process (``ulimit -v``, ``ulimit -d``) leave.
    """
    found = [free for free in (_of_computer(), *_of_groups(), *_of_process()) if free is not None]
    # 1 rather than 0, which says that nothing is known.
    return max(1, min(found)) if found else 0


def _of_groups() -> Iterator[int]:
    """Return what every control group of this process has left; what it caches of files can be given up."""
    with contextlib.suppress(OSError, ValueError):
        for line in (PROCESS / "cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            first = kinds.split(",") == ["memory"]
            if kinds and not first:
                continue
            mount = CGROUPS / "memory" if first else CGROUPS
            limit, usage, cache = V1 if first else V2
            # In a container the path may be that outside, and the mount the group itself.
            folder = mount / path.strip("/")
            for group in (folder, *folder.parents):
                if not group.is_relative_to(mount):
                    break
                # The limit is "max", or there is no file, without a limit.
                with contextlib.suppress(OSError, ValueError):
                    most, used = (int((group / name).read_text()) for name in (limit, usage))
                    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                    yield most - used + int(stat.get(cache, 0))


def _of_process() -> Iterator[int]:
    """Return what limits of address space and of data leave."""
    # Windows has neither.
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        pages = [int(word) * os.sysconf("SC_PAGE_SIZE") for word in (PROCESS / "statm").read_text().split()]
        for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            most = resource.getrlimit(kind)[0]
            if most != resource.RLIM_INFINITY:
                yield most - used


def _of_computer() -> int | None:
    """Return what this computer has free; None if the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(needed: int, what: str) -> None:
    """Raise an error if ``needed`` bytes do not fit; ``what`` begins the message.

    Raises
    ------
    MemoryError
        ``needed`` bytes are more than this process can have; the message has both numbers.
    """
    if needed < UNCHECKED:
        return
    free = available()
    if free and needed + RESERVE > free:
        raise MemoryError(
            f"{what} needs {needed / 2**30:,.2f} GiB, more than the {max(free - RESERVE, 0) / 2**30:,.2f} GiB "
            f"that this process can have"
        )
