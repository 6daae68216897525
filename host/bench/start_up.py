"""Time a first solve from start of Python to result: ``python -m beltline.host.bench.start_up``.

The first lines of the README run in fresh processes of this Python, one after the other. The first process may compile
and is dropped; compiled code and Python's bytecode are cached on disk. ``import`` is the time of the package's import,
``whole`` that of the process from start to end, and ``processor`` the processor time of all its threads. With the
default grid the line ``measure`` compares the median of ``whole`` with 1 s; the command returns 1 if it is longer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from beltline.host.bench.measures import HEADLINE, at_most
from beltline.host.bench.options import require_least

LINES = """
import time
begin = time.perf_counter()
import beltline as bl
imported = time.perf_counter() - begin
result = bl.solve(bl.rbc(grid={grid}))
text = str(result)
print(imported, time.perf_counter() - begin, time.process_time(), result.success)
"""


def run(grid: int) -> tuple[float, float, float, float]:
    """Return the seconds of the import, of all lines, of processors, and of the whole process.

    Raises
    ------
    RuntimeError
        The solve did not succeed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", LINES.format(grid=grid)], capture_output=True, text=True, check=True, env=environment
    )
    whole = time.perf_counter() - begin
    *seconds, success = done.stdout.split()
    if success != "True":
        raise RuntimeError(f"the solve with {grid:,} grid points did not succeed")
    imported, lines, processors = map(float, seconds)
    return imported, lines, processors, whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.start_up", description=__doc__)
    parser.add_argument("--grid", type=int, default=HEADLINE, help="grid points (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="number of processes (default: %(default)s)")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, grid=8, repeats=1)
    _, *turns = [run(asked.grid) for _ in range(asked.repeats + 1)]
    for name, spent in zip(("import", "all lines", "processor", "whole"), zip(*turns, strict=True), strict=True):
        print(f"{name:<10}{statistics.median(spent):8.3f} s, {min(spent):.3f} to {max(spent):.3f}")
    if asked.grid != HEADLINE:
        return 0
    whole = statistics.median(turn[-1] for turn in turns)
    return 0 if at_most("the first solve from start of Python, import included", 1.0, whole, "s") else 1


if __name__ == "__main__":
    sys.exit(main())
