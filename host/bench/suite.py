"""Time every device and method on the same problem, in one run and one table, as the published papers do.

The problem is the RBC model of :func:`beltline.host.models.rbc.rbc` with ``epsilon = 1e-10``, on grids of 16 to 65,536
points and one larger grid. Each method is timed on larger and larger grids until its next solve would exceed its time
budget; the report then says so. Times are wall-clock seconds of this computer without compilation, and medians if a
solve is quick. Rows of the machine are *modelled*: clock cycles, counted in simulation or by the formula that
simulation confirms, over a stated clock frequency. ``ratio`` is the total time of the published algorithm over that of
the row, on the same device and grid in the same run. The published algorithm is the binary search of Aldrich et al.,
here ``binary``, in our own implementation
(:mod:`beltline.gpu_ref.published`). The table also has the time of ``bl.solve`` from call to return, with
its checks and verification, and the energy in joules that the call used, where the platform measures it
(:mod:`beltline.host.bench.energy`).
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from beltline.gpu_ref.memory import available
from beltline.gpu_ref.methods import METHODS
from beltline.host import __version__
from beltline.host.bench import energy
from beltline.host.bench.measure import (
    BATCH,
    Bench,
    Report,
    batch_row,
    compile_models,
    machine_row,
    method_label,
    reference_row,
    sweep_label,
    sweep_row,
)
from beltline.host.bench.rows import EPSILON, PUBLISHED, with_ratios
from beltline.host.bench.tables import markdown
from beltline.host.bench.throughput import GRID, as_dicts, rates
from beltline.host.devices import DeviceError
from beltline.host.problem.checks import ProblemError, real
from beltline.host.results.files import replacing

GRIDS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 262_144)
"""The grids of the papers and one larger grid."""

BUDGET = 12.0
"""Largest expected time of a solve, in seconds."""

MODEL_BUDGETS = 5
"""Multiple of it for a software model of the machine, whose own time is not a result."""

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grid", {}),
    ("binary", {}),
    ("grid+howard", {}),
    ("interp", {"choices": 100}),
    ("interp", {"choices": 1000}),
    ("warm", {}),
    ("mpi", {}),
    ("shift", {}),
    ("shift", {"start": "stay"}),
    ("shift", {"start": "coarse"}),
    ("egm", {}),
)
"""Methods and published baselines with their options. On a GPU the only baseline is :data:`PUBLISHED`."""

RTL_GRID, RTL_TOL = 16, 1e-3
"""Grid and tolerance of the only row for which the gateware is simulated."""

RTL_SECONDS = 60.0
"""Time in which the gateware is usually generated, compiled and simulated."""

RATES_SECONDS = 30.0
"""Time that the rates of batches usually take, with the start of processes."""

BATCH_GRIDS = (1024, 65_536)
"""Numbers of grid points of each batch on a GPU."""

ORDER = ("cpu", "gpu", "fpga", "emulator", "rtl")
"""Order of devices in the table."""


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, versions and date; nothing that identifies the computer or its user."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    about: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "processor": name,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "free memory GiB": round(available() / 2**30, 1),
        "load at the start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "beltline": __version__,
    }
    for package in ("numpy", "numba", "llvmlite", "cupy"):
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about


SLOW = ("egm", PUBLISHED, "interp", "grid+howard", "grid")
"""Methods that are timed after all others, in this order."""

GROWTH = {"grid": 2.0, "grid+howard": 1.9}
"""How the time of a method grows with the grid, as an exponent; 1.1 for all others."""


def bench(
    out: Path | None = None,
    budget: float = BUDGET,
    seconds: float = 540.0,
    grids: Sequence[int] = GRIDS,
    report: Report = lambda line: None,
) -> dict[str, Any]:
    """Time everything that runs on this computer.

    Parameters
    ----------
    out
        Directory for ``bench.json`` and ``bench.md``.
    budget
        Largest expected time of a solve in seconds; ten times as much for the published method, and five times as much
        for a software model of the machine.
    seconds
        Time of the whole run: what is not expected to end in time is left out, with a note. The first row is always
        there. A solve that has begun, and compilation of a method that is used for the first time, may end later.
    grids
        Numbers of grid points.
    report
        A function that is called with a line of text after each solve.

    Returns
    -------
    dict
        ``"about"``, ``"rows"``, ``"throughput"`` and ``"notes"``, as written to ``out``.

    Raises
    ------
    ProblemError
        ``out`` is not a directory, ``grids`` is not a list of grid sizes, or ``budget`` or ``seconds`` is not above 0.
    """
    wanted = "a number of seconds above 0"
    budget = real("budget", budget, wanted, lambda v: 0 < v < math.inf)
    seconds = real("seconds", seconds, wanted, lambda v: 0 < v < math.inf)
    if out is not None and not out.is_dir():
        raise ProblemError(f"out {str(out)!r} is not a directory")
    if not grids or min(grids) < 4:
        raise ProblemError(f"grids must be numbers of grid points from 4, not {list(grids)}")
    begin = time.perf_counter()
    about = machine()
    run = Bench(report, budget, grids, begin + seconds)
    cuda = _cuda(run)
    if cuda is not None:
        from beltline.gpu_ref.cuda.device import device_name

        about["gpu"] = device_name()
    if not energy.meter("cpu").counters:
        run.notes.append("joules of processors: this computer has no counters of energy that may be read")
    if cuda is not None and not energy.meter("gpu").counters:
        run.notes.append("joules of the GPU: its driver does not count them")
    # Slow methods come last, so that they use the remaining time.
    compiling = time.perf_counter()
    compile_models()
    report(f"software models compiled or loaded in {time.perf_counter() - compiling:.1f} s")
    patience = MODEL_BUDGETS * budget
    run.by_grid("emulator", "line", lambda grid: machine_row(run, "emulator", grid, EPSILON), 1.1, patience)
    for way in ("shift", None):
        run.by_grid("fpga", sweep_label(way), lambda grid, w=way: sweep_row(run, grid, w), 1.3, patience)  # type: ignore[misc]
    _rtl(run)
    for grid in BATCH_GRIDS if cuda is not None else ():
        if run.late():
            run.notes.append(f"gpu batch of {BATCH:,}, {grid:,} points: no time was left in the run")
            continue
        try:
            run.rows.append(batch_row(run, cuda, grid))
        except MemoryError as error:
            run.notes.append(f"gpu batch of {BATCH:,}: {error}")
    throughput = _rates(run, cuda is not None)
    for method, options in sorted(VARIANTS, key=lambda variant: SLOW.index(variant[0]) if variant[0] in SLOW else -1):
        for device in ("gpu", "cpu") if cuda is not None and method in (*METHODS, PUBLISHED) else ("cpu",):
            run.by_grid(
                device,
                method_label(method, options),
                lambda grid, m=method, o=options, d=device: reference_row(run, d, m, o, grid),  # type: ignore[misc]
                GROWTH.get(method, 1.1),
                10 * budget if method == PUBLISHED else budget,
            )
    run.rows.sort(key=lambda row: ORDER.index(row.device))
    rows = [asdict(row) for row in with_ratios(run.rows)]
    report(f"the run took {time.perf_counter() - begin:.0f} s, of at most {seconds:g} s")
    result = {"about": about, "rows": rows, "throughput": throughput, "notes": run.notes}
    if out is not None:
        _write(result, out)
    return result


def _rtl(run: Bench) -> None:
    """Add the row of the gateware in simulation, or a note that says why it is left out."""
    if run.late(RTL_SECONDS):
        run.notes.append(f"rtl: it takes about {RTL_SECONDS:g} s, more than were left in the run")
        return
    begin = time.perf_counter()
    try:
        run.rows.append(machine_row(run, "rtl", RTL_GRID, RTL_TOL))
    except (DeviceError, ProblemError) as error:
        run.notes.append(f"rtl: {error}")
    run.report(f"rtl: gateware compiled or loaded, and simulated, in {time.perf_counter() - begin:.1f} s")


def _rates(run: Bench, gpu: bool) -> list[dict[str, Any]]:
    """Return the rates of batches; empty, with a note, if no time is left for them."""
    if run.late(RATES_SECONDS):
        run.notes.append(f"problems a second: they take about {RATES_SECONDS:g} s, more than were left in the run")
        return []
    found = as_dicts(rates(grid=min(GRID, max(run.grids)), gpu=gpu))
    for row in found:
        run.report(f"{row['device']} {row['note']}: {row['per_second']:.3g} problems a second")
    return found


def _cuda(run: Bench) -> Any:
    try:
        from beltline.gpu_ref.cuda import solver as cuda
    except ImportError as error:
        run.notes.append(f"gpu: {error}")
        return None
    why = cuda.available()
    if why:
        run.notes.append(f"gpu: {why}")
        return None
    return cuda


def finite(value: Any) -> Any:
    """Return ``value`` with None in place of nan and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(result: dict[str, Any], out: Path) -> None:
    with replacing(out / "bench.json") as file:
        file.write((json.dumps(finite(result), indent=1, allow_nan=False) + "\n").encode())
    with replacing(out / "bench.md") as file:
        file.write(markdown(result).encode())
