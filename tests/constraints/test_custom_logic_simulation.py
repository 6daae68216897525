"""The custom logic of AWS F2, simulated: the driver reaches the machine through the shell's ports OCL and PCIS.

Parts of the HDK are replaced: its register slices by queues of two transfers, and the shell by the bus masters of the
simulated board.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import beltline as bl
from beltline.constraints import vivado
from beltline.constraints.boards import BOARDS, Board
from beltline.host.devices.rtl import RtlDevice
from beltline.hw.interface.registers import IDENTITY, Table
from beltline.hw.top import content, verilog
from beltline.sim.board import SimulatedBoard
from beltline.sim.yosys import use_yosys
from support import f2_kit
from support.stand_in import machine

pytestmark = pytest.mark.gateware


def small() -> Board:
    board = BOARDS["f2-sweep"]
    return dataclasses.replace(board, machine=dataclasses.replace(board.machine, grid=32, states=2, results=0, lanes=2))


def opened(board: Board, machine: dict[str, str], change: Callable[[str], str] = lambda text: text) -> RtlDevice:
    """Open the simulated custom logic of a board with a machine; ``change`` edits its source first."""
    build = {"beltline_build.v": f"module beltline_build(output [63:0] hash); assign hash = 64'h{0:016x}; endmodule\n"}
    files = f2_kit.simulated(vivado.project(board, build | machine))
    files["cl_beltline.sv"] = change(files["cl_beltline.sv"])
    return RtlDevice(SimulatedBoard(files, top=f2_kit.SHELL))


def anywhere_in_a_table(device: RtlDevice) -> None:
    """Check blocks of table V, written and read with any alignment to the beats of the bus."""
    rng = np.random.default_rng(3)
    whole = rng.integers(-(2**63), 2**63, 64)
    device.write_block(Table.V, 0, whole)
    for first, count in [(0, 64), (1, 1), (7, 2), (3, 40), (63, 1)]:
        part = rng.integers(-(2**63), 2**63, count)
        device.write_block(Table.V, first, part)
        whole[first : first + count] = part
        assert np.array_equal(device.read_block(Table.V, 0, 64), whole)
        assert np.array_equal(device.read_block(Table.V, first, count), part)


@pytest.mark.parametrize("name", ["f2", "f2-sweep"])
def test_registers_and_tables_are_reached_through_ocl_and_pcis(name: str) -> None:
    """A host reaches registers and tables, with and without a clock of the machine's own, on a substitute machine."""
    device = opened(BOARDS[name], machine(bus_bits=512))
    assert device.read_register("IDENTITY") == IDENTITY
    device.write_register("SWEEP_LIMIT", 0x89AB_CDEF)
    assert device.read_register("SWEEP_LIMIT") == 0x89AB_CDEF
    anywhere_in_a_table(device)
    device.close()


def test_sweep_engine_in_the_custom_logic_has_the_bits_and_clocks_of_the_software_model() -> None:
    use_yosys()
    board = small()
    generated = verilog.generate(board.machine)
    device = opened(board, generated)
    assert device.read_register("BUILD_HASH") == int(content.build_hash(generated), 16)
    assert device.read_register("CLOCK_HZ") == board.machine.clock_hz
    anywhere_in_a_table(device)
    problem = bl.rbc(grid=32, states=2)
    with bl.Session(device) as session:
        there = session.solve(problem, tol=1e-4)
    here = bl.solve(problem, tol=1e-4, device="emulator", lanes=2)
    assert there.success
    assert np.array_equal(there.value, here.value)
    assert np.array_equal(there.policy, here.policy)
    assert (there.sweeps, there.clocks) == (here.sweeps, here.clocks)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".s_axi_arvalid(ocl_cl_arvalid)", ".s_axi_arvalid(1'b0)"),
        (".s_axi_wstrb(sh_cl_dma_pcis_wstrb)", ".s_axi_wstrb('1)"),
        (".s_axi_awlen(sh_cl_dma_pcis_awlen)", ".s_axi_awlen(8'b0)"),
    ],
)
def test_a_wrong_connection_is_found(old: str, new: str) -> None:
    def wrong(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    def tried() -> None:
        anywhere_in_a_table(opened(BOARDS["f2"], machine(bus_bits=512), wrong))

    with pytest.raises((bl.DeviceError, AssertionError)):
        tried()
