"""Time a first solve from start of Python to result: ``python -m docs.tables.start_up``.

The first lines of the README run in fresh processes of this Python, one after the other. The first process may compile
and is dropped; compiled code and Python's bytecode are cached on disk. ``import`` is the time of the package's import,
``processor`` the processor time of all threads, ``returned`` the time from the start of the process until its result
has been printed, and ``whole`` until the process has ended. With the default grid the line ``measure`` compares the
median of ``returned`` with 1 s; the command returns 1 if it is longer.
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
print(imported, time.perf_counter() - begin, time.process_time(), result.success, flush=True)
"""


def run(grid: int) -> tuple[float, float, float, float, float]:
    """Return the seconds of the import, of all lines, of processors, until the result is printed, and of the process.

    Raises
    ------
    RuntimeError
        The solve did not succeed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", LINES.format(grid=grid)]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        *seconds, success = process.stdout.readline().split() or ("False",)
        returned = time.perf_counter() - begin
    whole = time.perf_counter() - begin
    if success != "True" or process.returncode:
        raise RuntimeError(f"the solve with {grid:,} grid points did not succeed")
    imported, lines, processors = map(float, seconds)
    return imported, lines, processors, returned, whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.start_up", description=__doc__)
    parser.add_argument("--grid", type=int, default=HEADLINE, help="grid points (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="number of processes (default: %(default)s)")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, grid=8, repeats=1)
    _, *turns = [run(asked.grid) for _ in range(asked.repeats + 1)]
    names = ("import", "all lines", "processor", "returned", "whole")
    for name, spent in zip(names, zip(*turns, strict=True), strict=True):
        print(f"{name:<10}{statistics.median(spent):8.3f} s, {min(spent):.3f} to {max(spent):.3f}")
    if asked.grid != HEADLINE:
        return 0
    returned = statistics.median(turn[-2] for turn in turns)
    return 0 if at_most("the first solve from start of Python, import included", 1.0, returned, "s") else 1


if __name__ == "__main__":
    sys.exit(main())
