"""Check that a solve fits into the memory of this computer, before anything is allocated."""

from __future__ import annotations

import os

RESERVE = 2**28
"""Bytes left free for everything else."""

UNCHECKED = 2**20
"""Bytes below which nothing is checked, because that would take longer than a small solve."""


def available() -> int:
    """Return the bytes that can be allocated without swapping; 0 if the system does not say."""
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
        return 0


def check_memory(needed: int, what: str) -> None:
    """Raise an error if ``needed`` bytes do not fit; ``what`` begins the message.

    Raises
    ------
    MemoryError
        ``needed`` bytes are more than this computer has free; the message has both numbers.
    """
    if needed < UNCHECKED:
        return
    free = available()
    if free and needed + RESERVE > free:
        raise MemoryError(
            f"{what} needs {needed / 2**30:,.2f} GiB, more than the {max(free - RESERVE, 0) / 2**30:,.2f} GiB "
            f"that this computer has free"
        )
