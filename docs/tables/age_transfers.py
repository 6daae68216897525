"""Print what loading the tables of an age during the run before it could save:
``python -m docs.tables.age_transfers``.

The cohort of :func:`beltline.host.models.cohort.model.cohort` is solved on the emulated sweep engine, which is run once
for each age. For several numbers of lanes the table has the clocks of these runs, by the clock model, and the 64-bit
words that the host writes before a run and reads after it. A link that moves a word a clock, faster than that of any
board here, would be busy for a clock for each word. Loading during the last run would hide at most the shorter of run
and writes; the words that are read are the results of the run, and cannot be read before its end.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.bench.options import require_least
from beltline.host.devices.base import Device
from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.cohort.model import cohort
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Engine, Status, Table
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters

LANES = (1, 4, 16, 64)

MULTIPLIERS = 16
"""Most multipliers of the expectation, which are taken in turn."""


class Counted:
    """A device that counts the words that are moved, by age.

    Parameters
    ----------
    device
        The device; all else is passed on to it.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.written: list[int] = [0]
        self.read: list[int] = [0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        """Write words, and count them. The first ones after some were read belong to the next age."""
        if self.read[-1]:
            self.written.append(0)
            self.read.append(0)
        self.written[-1] += words.size
        self._device.write_block(table, first, words)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        """Read words, and count them."""
        self.read[-1] += count
        return self._device.read_block(table, first, count)


@dataclass(frozen=True)
class Ages:
    """Means of an age, over all ages but the first to be solved, for which all tables are written.

    Parameters
    ----------
    lanes
        Number of lanes.
    clocks
        Clocks of the run of an age, by the clock model; the mean of all ages.
    written, read
        Words that the host writes before it and reads after it.
    """

    lanes: int
    clocks: float
    written: float
    read: float

    @property
    def saved(self) -> float:
        """Largest share of the time that loading during the last run could save, with a link of a word a clock."""
        return min(self.clocks, self.written) / (self.clocks + self.written + self.read)


def measured(grid: int, states: int, lanes: int) -> Ages:
    """Solve the cohort with ``grid`` points and ``states`` persistent states on the emulated machine.

    Raises
    ------
    RuntimeError
        A choice of some age was not proven.
    """
    model = cohort(grid=grid, states=states)
    image = product_image(model.problem(), 1e-6)
    points, products = image.start.shape
    most = 1 << (products - 1).bit_length()
    build = MachineParameters(
        max(1 << (points - 1).bit_length(), ROW_WORDS * lanes),
        most,
        engine=Engine.SWEEP,
        lanes=lanes,
        proof=True,
        costs=True,
        alternatives=True,
        multipliers=min(MULTIPLIERS, most // 2),
    )
    counted = Counted(ModelDevice(SweepSoftwareMachine(SweepParameters.of(build), logged=True)))
    run = Driver(counted).run(image, 1, horizon=model.ages)
    if Status.PROVEN not in run.status:
        raise RuntimeError(f"the choices of {grid} x {products} on {lanes} lanes were not proven: {run.status!r}")
    mean = statistics.mean
    return Ages(lanes, run.clocks / model.ages, mean(counted.written[1:]), mean(counted.read[1:]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.age_transfers", description=__doc__)
    parser.add_argument("--grid", type=int, default=512, help="grid points (default: %(default)s)")
    parser.add_argument("--states", type=int, default=3, help="persistent states of income (default: %(default)s)")
    asked = parser.parse_args(arguments)
    require_least(parser, asked, grid=16, states=2)
    print("| lanes | clocks of a run | words written | words read | share of the time that could be saved, at most |")
    print("|---:|---:|---:|---:|---:|")
    for lanes in LANES:
        if ROW_WORDS * lanes <= asked.grid:
            one = measured(asked.grid, asked.states, lanes)
            print(
                f"| {one.lanes} | {one.clocks:,.0f} | {one.written:,.0f} | {one.read:,.0f} | {one.saved:.0%} |",
                flush=True,
            )
    print("\nMeans of an age. Clocks: clock model; at a word a clock of the link for what is written and read.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
