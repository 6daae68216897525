"""The fast path of the assembly line's model with values out of range and with ties."""

from __future__ import annotations

import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.line.model import LineSoftwareMachine, _local_search
from support.machines import begun
from support.ties import searches


@pytest.mark.parametrize("sweeps", [1, 3])
def test_values_out_of_range_on_the_fast_path(sweeps: int) -> None:
    """Flags of values out of range agree in the first sweep and in a later one, in which no choice changes."""
    image = fixed_point(rbc(grid=64, states=1), 1e-10)
    image.wealth[:] = image.wealth.max()
    machine = begun(LineSoftwareMachine(MachineParameters(64, 1)), image)
    constants = UtilityConstants.of(0.5, 40, 44)
    u = int(UtilityParameters().model(image.wealth[0] - image.grid[0], constants)[0][0])
    machine.v[:64] = MAXIMUM - (2 * sweeps - 1) * u // 2
    # With a weight of nearly one the expectation is nearly the value, and each sweep adds the utility.
    machine.q[0] = 2**64 - 1
    machine.start(64, 1, Mode(0), 10, 0, constants)
    while not machine.step():
        pass
    assert machine.status == Status.DONE | Status.SATURATED
    assert machine.sweeps == sweeps
    assert machine.literal_sweeps == 0
    assert (machine.v[:64] == MAXIMUM).all()


def test_ties_on_the_fast_path() -> None:
    """A local search from any candidate ends on the lowest of the best ones."""
    ties = 0
    for seed in range(4):
        for one in searches(seed):
            for start in range(one.x.size):
                found = _local_search(one.wealth, one.x, one.ev, one.state, one.constants.words, start)
                assert found[0] == one.lowest, (seed, start)
            ties += one.tied
    assert ties > 20
