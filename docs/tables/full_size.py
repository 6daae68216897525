"""Compare sweeps of the full-size gateware with the software model: ``python -m docs.tables.full_size``.

The size is 65,536 points, 4 exogenous states, 15 stages and 46 evaluators. Every word of value and policy is compared
after every sweep, and the clocks with the formula.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from beltline.host.devices.rtl import open_rtl
from beltline.host.devices.software_model import open_model
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.clocks import pass_clocks


def main(argv: list[str] | None = None) -> int:
    """Build, sweep, compare and print; return 0 if every bit agrees."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.full_size", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two (default: %(default)s)")
    parser.add_argument("--sweeps", type=int, default=2, help="number of sweeps (default: %(default)s)")
    arguments = parser.parse_args(argv)

    def say(text: str) -> None:
        print(text, flush=True)

    parameters = MachineParameters(grid=arguments.grid, states=4)
    problem = rbc(grid=arguments.grid, states=4)
    image = replace(fixed_point(problem, 1e-10), epsilon=0)
    begin = time.perf_counter()
    board = open_rtl(parameters, say)
    model = open_model(parameters)
    say(f"{parameters.stages} stages ready after {time.perf_counter() - begin:.0f} s")
    good = True
    for sweep in range(1, arguments.sweeps + 1):
        gateware = Driver(board).run(image, 1, progress=say)
        expected = Driver(model).run(image, 1)
        values = int((gateware.value != expected.value).sum())
        choices = int((gateware.policy != expected.policy).sum())
        counted = gateware.clocks == expected.clocks and gateware.norm == expected.norm
        good = good and not values and not choices and counted
        say(
            f"sweep {sweep}: {image.start.size:,} states; {values} values and {choices} choices differ from the model; "
            f"{gateware.clocks:,} clocks with the prologue, {'as' if counted else 'NOT as'} the formula says; "
            f"{board.clocks_source}"
        )
        image = replace(image, start=gateware.value)
    overhead = pass_clocks(parameters, parameters.grid, 4) - image.start.size
    say(f"A sweep takes {image.start.size:,} + {overhead} clocks.")
    board.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
