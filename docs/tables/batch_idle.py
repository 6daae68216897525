"""Count the clocks for which the gateware is idle during a batch: ``python -m docs.tables.batch_idle``.

The device is idle from the end of a run to the start of the next, while results are read and the next tables and
settings are written over its two buses. In simulation, clocks pass during these accesses and during runs, but not while
the host computes; the time that the host computes between two runs is measured separately, in seconds of this computer.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from beltline.host.batch.solve_many import solve_many
from beltline.host.devices.rtl import RtlDevice, open_rtl
from beltline.host.models.rbc import rbc
from beltline.host.results.result import Result
from beltline.host.solver.session import Session
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Table

LIMIT = 0.05
"""Largest share of idle clocks."""


@dataclass
class _Run:
    start: int
    since: float
    end: int = 0
    until: float = 0.0


@dataclass
class Watched:
    """The simulated device, with a record of when each run began and ended."""

    device: RtlDevice
    runs: list[_Run] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.device.name

    @property
    def clocks_source(self) -> str:
        return self.device.clocks_source

    def read_register(self, name: str) -> int:
        return self.device.read_register(name)

    def write_register(self, name: str, value: int) -> None:
        if name == "COMMAND" and value & Command.RUN:
            self.runs.append(_Run(self.device.clocks_simulated, self._host()))
        self.device.write_register(name, value)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        self.device.write_block(table, first, words)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        return self.device.read_block(table, first, count)

    def wait(self, seconds: float) -> bool:
        done = self.device.wait(seconds)
        if done and self.runs:
            self.runs[-1].end, self.runs[-1].until = self.device.clocks_simulated, self._host()
        return done

    def close(self) -> None:
        self.device.close()

    def _host(self) -> float:
        """Return seconds that were not spent in the simulation."""
        return time.perf_counter() - self.device.seconds_simulating


@dataclass(frozen=True)
class Idle:
    """Counts of a batch.

    Parameters
    ----------
    problems, sweeps
        Number of problems, and number of their sweeps together.
    busy, clocks
        Clocks of the runs by the machine's own counter, and all clocks from the first start to the last end.
    between
        Median seconds of the host from the end of a run to the next start, without simulation.
    solved
        Whether all problems were solved.
    """

    problems: int
    sweeps: int
    busy: int
    clocks: int
    between: float
    solved: bool

    @property
    def share(self) -> float:
        """Share of idle clocks."""
        return 1 - self.busy / self.clocks


def measure(problems: int, parameters: MachineParameters, tol: float, warm: bool = False) -> Idle:
    """Solve ``problems`` calibrations of the RBC model, whose tables all differ, on one simulated device."""
    watched = Watched(open_rtl(parameters))
    try:
        given = (
            rbc(grid=parameters.grid, states=parameters.states, beta=0.95 + 0.03 * i / problems, eta=1.5 + i / problems)
            for i in range(problems)
        )
        with Session(watched) as session:
            results = [
                attempt.result
                for attempt in solve_many(given, tol, device=session, warm=warm, progress=False)
                if isinstance(attempt.result, Result)
            ]
    finally:
        watched.close()
    runs = watched.runs
    return Idle(
        problems=len(results),
        sweeps=sum(result.sweeps for result in results),
        busy=sum(result.clocks for result in results),
        clocks=runs[-1].end - runs[0].start,
        between=statistics.median(b.since - a.until for a, b in itertools.pairwise(runs)),
        solved=len(results) == problems and all(result.success for result in results),
    )


def main(argv: list[str] | None = None) -> int:
    """Count and print; return 0 if all problems are solved and the share of idle clocks is below ``LIMIT``."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.batch_idle", description=__doc__)
    parser.add_argument("--grid", type=int, default=16, help="grid points N_k (default: %(default)s)")
    parser.add_argument("--states", type=int, default=3, help="exogenous states N_z (default: %(default)s)")
    parser.add_argument("--problems", type=int, default=50, help="number of calibrations (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-2, help="stop below this change of V (default: %(default)s)")
    parser.add_argument("--warm", action="store_true", help="start each from its nearest solved neighbour")
    given = parser.parse_args(argv)
    found = measure(given.problems, MachineParameters(given.grid, given.states), given.tol, given.warm)
    idle = found.clocks - found.busy
    for line in (
        f"{found.problems} of {given.grid} x {given.states} points, {found.sweeps / found.problems:.1f} sweeps each",
        f"{found.clocks:,} clocks from the first start to the last end, {found.busy:,} of them in runs",
        f"idle: {idle / found.problems:.0f} clocks per problem, {100 * found.share:.2f}%; the limit is {LIMIT:.0%}",
        f"host: {found.between * 1e3:.2f} ms of this computer from a run to the next (median)",
    ):
        print(line)
    return 0 if found.solved and found.share < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
