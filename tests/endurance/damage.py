"""Damaged files in seeded ways: each must be refused in one sentence, or read as it was."""

from __future__ import annotations

import random
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

from support.damage import SEALS, damaged, read
from support.files import WRITERS, content, small

SECONDS, BYTES = 10.0, 512 * 2**20
"""Longest time, and most memory, that reading a small file may take."""


def damage(folder: Path, kind: str, count: int, seed: int) -> dict[str, Any]:
    """Read ``count`` damaged files of a kind, and return how often which end was found, and what was wrong."""
    result = small()
    path = WRITERS[kind](result, folder)
    whole, expected = path.read_bytes(), content(kind, path, result)
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    wrong: list[Any] = []
    longest, before = 0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        # Half of the files have the checksum of the writer, which refuses almost all of them.
        seal = rng.choice(["", "", *SEALS[1:]])
        data = damaged(rng, kind, whole, seal)
        path.write_bytes(data)
        begin = time.monotonic()
        end = read(kind, path, result, expected, seal)
        spent = time.monotonic() - begin
        longest = max(longest, spent)
        # Content whose checksum was computed again may be changed.
        fine = end in ("refused", "harmless") or (end == "changed" and seal == "content")
        found[f"{seal or 'no'} checksum again: {end if fine else 'wrong'}"] += 1
        if not fine or spent > SECONDS:
            wrong.append([number, seal, end, round(spent, 2)])
    more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    child = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if max(more, child) > BYTES:
        wrong.append(f"{max(more, child):,} bytes of memory")
    facts = {"longest seconds": round(longest, 2), "MiB more": more >> 20, "MiB of a reading process": child >> 20}
    return {"files": count, **dict(sorted(found.items())), **facts, "wrong": wrong[:50]}
