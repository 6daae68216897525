"""Where the words of a problem lie in the table windows."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.hw.interface.layout import Layout, Words
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.sweep.parameters import SweepParameters

TABLES = (Table.X, Table.W, Table.V, Table.POLICY)


def sweep(grid: int, states: int, lanes: int) -> MachineParameters:
    return MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes)


@pytest.mark.parametrize(
    "build", [sweep(8, 1, 1), sweep(64, 4, 2), sweep(64, 4, 8), sweep(512, 2, 64), sweep(128, 8, 4)]
)
def test_every_state_lies_in_the_block_of_its_lane(build: MachineParameters) -> None:
    random = np.random.default_rng(build.lanes)
    for _ in range(20):
        grid, states = int(random.integers(2, build.grid + 1)), int(random.integers(1, build.states + 1))
        points = 8 * SweepParameters.of(build).local_rows(grid)
        layout = Layout(build, grid, states)
        assert layout.lane_points == points
        for table in TABLES:
            width, largest = (1, 1) if table is Table.X else (states, build.states)
            placed = np.full(WindowParameters(build).words(table), -1)
            for block in layout.blocks(table):
                assert (block.of(placed) == -1).all()
                block.of(placed)[:] = np.arange(block.table, block.table + block.count)
            assert (placed >= 0).sum() == grid * width
            x, s = np.divmod(np.arange(grid * width), width)
            lane = x // points
            where = lane * (build.grid // build.lanes * largest) + (x - lane * points) * width + s
            assert (placed[where] == np.arange(grid * width)).all()


def test_a_problem_as_large_as_the_build_lies_in_table_order() -> None:
    layout = Layout(sweep(512, 4, 16), 512, 4)
    assert layout.blocks(Table.W) == (Words(0, 0, 2048),)
    assert layout.blocks(Table.X) == (Words(0, 0, 512),)
    # With fewer states only the grid still lies in table order.
    layout = Layout(sweep(512, 4, 16), 512, 3)
    assert len(layout.blocks(Table.V)) == 16
    assert layout.blocks(Table.X) == (Words(0, 0, 512),)


def test_tables_of_the_assembly_line_lie_in_table_order() -> None:
    layout = Layout(MachineParameters(64, 4), 13, 3)
    assert [layout.blocks(table) for table in TABLES] == [(Words(0, 0, n),) for n in (64, 39, 39, 39)]
