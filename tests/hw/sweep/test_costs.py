"""Tables of costs in the software model, against full search in fixed point and in the problem's own costs."""

from __future__ import annotations

import numpy as np

from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support.machines import begun
from support.peaks import savings


def test_the_grid_as_a_cost_changes_no_bit() -> None:
    """If the cost of each choice equals its grid point, results are those of a build without costs."""
    given = savings("jumps", 1)
    image = fixed_point(given, 1e-6)
    assert image.grid.ndim == 1
    plain = begun(SweepSoftwareMachine(SweepParameters(128, 4, 2, proof=True), logged=True), image)
    costly = begun(SweepSoftwareMachine(SweepParameters(128, 4, 2, proof=True, costs=True), logged=True), image)
    while not plain.step():
        costly.step()
        assert np.array_equal(plain.cached, costly.cached)
    assert costly.step()
    assert (plain.status, plain.clocks) == (costly.status, costly.clocks)
    assert np.array_equal(plain.v, costly.v)
    assert np.array_equal(plain.policy, costly.policy)


def test_costs_lie_by_point_and_built_state() -> None:
    build = MachineParameters(64, 4, engine=Engine.SWEEP, lanes=2, proof=True, costs=True)
    assert WindowParameters(build).words(Table.X) == 64 * 4
    assert Layout(build, 64, 3).blocks(Table.X) == (Words(0, 0, 256),)
    # Sixteen points per lane; the second lane has only four.
    assert Layout(build, 20, 3).blocks(Table.X) == (Words(0, 0, 64), Words(128, 64, 16))
    assert Layout(build, 20, 3).blocks(Table.W) == (Words(0, 0, 48), Words(128, 48, 12))
