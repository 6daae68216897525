"""Print time and energy of a sweep engine that fits a board, beside this computer's CPU and GPU.

Command: ``python -m docs.tables.fitting_engines``. The RBC model of :func:`beltline.host.models.rbc.rbc` is
solved at three sizes, by plain sweeps and with shifts from a coarse start. Each problem has a row for

- 64 lanes at :data:`beltline.hw.interface.parameters.CLOCK_HZ`, which fit no board;
- the build :data:`BOARD`, at its clock on its chip;
- the CPU, by the reference solver of the same method (``warm`` or ``shift`` with ``start="coarse"``);
- the GPU, if there is one, by the same method.

Times of the engine are clocks of the clock model (:mod:`beltline.hw.sweep.clocks`) by the clock: modelled, and without
transfers. Its coarse start is made by the host, whose time has its own column. Solves on CPU and GPU are repeated for
some seconds and measured from call to return, without verification; the time of the solve alone is a median.

Energy of CPU and GPU is measured (:mod:`beltline.host.bench.energy`): of all processor packages, where Linux lets the
counters be read, and of the whole card of the GPU, without the processors that call it. It is the mean over all calls,
with that of an idle computer and after it is subtracted. A GPU is idle here with its context open. Energy of the engine
is *assumed*, at :data:`WATTS`: no board has run it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from beltline.constraints.boards import BOARDS
from beltline.constraints.chips import chip_of
from beltline.gpu_ref.cuda import device as cuda
from beltline.host.bench import energy
from beltline.host.bench.energy import Meter
from beltline.host.bench.suite import machine
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.solve import solve as solve_on
from beltline.hw.interface.parameters import CLOCK_HZ
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.engines import FAST, PLAIN, shown, start_seconds
from docs.tables.sweep_acceleration import Way, build_of, solve

BOARD = "f2-sweep"
"""The build: the largest engine that fits a board, by the figures of synthesis (``docs/boards/f2-sweep.md``)."""

WATTS = 85.0
"""Power that is assumed for :data:`BOARD` while it solves.

Above 85 W in the chip's core (Vccint) Amazon's shell for F1 warns that it may stop the design's clocks
(github.com/aws/aws-fpga, branch f1_xdma_archived, hdk/docs/afi_power.md). For F2 Amazon has published no figure. It is
an upper limit of a permitted design and not an estimate of this one. The rest of the card is not included.
"""

MANY_LANES = 64

CASES = ((65_536, PLAIN), (65_536, FAST), (4096, PLAIN), (1024, PLAIN), (1024, FAST))
"""Problems by their grid points, and ways of the engine."""

SECONDS = 5.0
"""Least time of a measurement of energy: counters of cards are updated some ten times a second."""

SETTLE = 1.0
"""Time in seconds between a solve and the measurement of an idle computer."""

_HEAD = (
    "to {tol:g} | on | sweeps | clocks | start by the host, ms | solve, ms | call to return, ms | joules a solve | "
    "less idle | how"
)


@dataclass(frozen=True)
class Measured:
    """A solve on this computer, by the mean of many.

    Attributes
    ----------
    sweeps
        Number of sweeps.
    solve
        Seconds of the solve, without transfers: a median.
    call
        Seconds from call to return.
    joules
        Energy of a call; nan if it is not counted.
    """

    sweeps: int
    solve: float
    call: float
    joules: float


def idle_watts(meter: Meter, seconds: float) -> float:
    """Return the mean power while this program waits for ``seconds``; nan if the meter has no counter."""
    if not meter.counters:
        return math.nan
    time.sleep(SETTLE)
    meter.start()
    begin = time.perf_counter()
    time.sleep(seconds)
    return meter.joules() / (time.perf_counter() - begin)


def measured(call: Callable[[], Any], meter: Meter, seconds: float) -> Measured:
    """Repeat a solve for at least ``seconds``; ``call`` returns its result. One more is made before and not counted."""
    call()
    solves = []
    meter.start()
    begin = time.perf_counter()
    while True:
        result = call()
        solves.append(result.timing["solve"])
        spent = time.perf_counter() - begin
        if spent >= seconds:
            break
    return Measured(result.sweeps, statistics.median(solves), spent / len(solves), meter.joules() / len(solves))


def _number(value: float) -> str:
    return "" if math.isnan(value) else shown(value)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _engine_rows(problem: Problem, way: Way, tol: float, title: str) -> Iterator[str]:
    """Yield the rows of the engines that are modelled."""
    board = BOARDS[BOARD]
    many = f"{MANY_LANES} lanes at {CLOCK_HZ / 1e6:g} MHz, fit no board"
    fits = f"`{BOARD}`: {board.machine.lanes} lanes at {board.machine.clock_hz / 1e6:g} MHz, {chip_of(board).name}"
    begun = _number(start_seconds(problem, way, tol) * 1e3) if way.start == "coarse" else "0"
    for name, build, clock_hz, watts in (
        (many, build_of(problem.points, MANY_LANES), CLOCK_HZ, math.nan),
        (fits, SweepParameters.of(board.machine), board.machine.clock_hz, WATTS),
    ):
        found = solve(problem, build, way, tol)
        seconds = found.clocks / clock_hz
        joules, how = _number(watts * seconds), "time modelled"
        if joules:
            how += f", {watts:g} W assumed"
        cells = f"{found.sweeps:,}", f"{found.clocks:,}", begun, _number(seconds * 1e3), "", joules, "", how
        yield _row(title, name, *cells)


def _measured_row(title: str, name: str, found: Measured, idle: float) -> str:
    less = found.joules - idle * found.call
    cells = (
        f"{found.sweeps:,}", "", "in the solve", _number(found.solve * 1e3), _number(found.call * 1e3),
        _number(found.joules), _number(less), "measured",
    )  # fmt: skip
    return _row(title, name, *cells)


def devices() -> dict[str, tuple[str, Meter]]:
    """Return name and meter of each device of this computer that solves, by the value of ``device=``."""
    about = machine()
    found = {"cpu": (f"{about['cores']} cores, {about['processor']}", Meter(energy.processor_counters()))}
    if not cuda.available():
        found["gpu"] = (cuda.device_name(), Meter(energy.card_counters()))
    return found


def rows(tol: float, seconds: float) -> Iterator[str]:
    """Yield the lines of the table and the sentences after it."""
    problems = {points: rbc(grid=points) for points, _ in CASES}
    here = devices()

    def call_of(device: str, points: int, way: Way) -> Callable[[], Any]:
        method = {"method": "warm"} if way == PLAIN else {"method": "shift", "start": "coarse"}
        given = {**method, "tol": tol, "verify": False, "progress": False}
        return lambda: solve_on(problems[points], device=device, **given)

    for device in here:
        call_of(device, *CASES[-1])()  # This compiles it and opens the device.
    idle = {device: idle_watts(meter, seconds) for device, (_, meter) in here.items()}
    yield _row(*_HEAD.format(tol=tol).split(" | "))
    yield _row(*["---"] * (_HEAD.count(" | ") + 1))
    for points, way in CASES:
        title = f"{points:,} x {problems[points].states}, {'plain sweeps' if way == PLAIN else 'shifts, coarse start'}"
        yield from _engine_rows(problems[points], way, tol, title)
        for device, (name, meter) in here.items():
            found = measured(call_of(device, points, way), meter, seconds)
            yield _measured_row(title, name, found, idle[device])
    yield ""
    yield (
        f"Engine: clock model, without transfers, if timing closes at this clock; energy at {WATTS:g} W, an assumption "
        "(Amazon's limit for the core of F1's chip; F2's is not published). Nothing was measured on a board."
    )
    yield f"Calls were repeated for at least {seconds:g} s each, at load {machine()['load at the start']} at the end."
    for device, (_, meter) in here.items():
        what = "The GPU's card" if device == "gpu" else "The processors"
        counted = f"used {idle[device]:.3g} W idle, measured for {seconds:g} s before."
        yield f"{what} {counted if meter.counters else 'have no counter of energy that may be read.'}"
    if "gpu" not in here:
        yield f"No GPU: {cuda.available()}"


def main(arguments: list[str] | None = None) -> int:
    """Solve, measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.tables.fitting_engines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="least seconds of each measurement (default: %(default)s)"
    )
    given = parser.parse_args(arguments)
    if not given.tol > 0.0:
        parser.error(f"--tol must be above 0, not {given.tol:g}")
    if not 0.0 < given.seconds < math.inf:
        parser.error(f"--seconds must be a number of seconds above 0, not {given.seconds:g}")
    for row in rows(given.tol, given.seconds):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
