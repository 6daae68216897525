"""Helpers for tests of the sweep engine's units: the memories of all lanes, and what is written there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import HALF_WORDS, SweepParameters
from beltline.hw.sweep.row_buses import RowBuses, RowBusesParameters

MASK = 2**WIDTH - 1


def row_writes(build: SweepParameters, tables: Sequence[tuple[int, Sequence[int]]]) -> list[dict[str, int]]:
    """Writes of whole rows, each with its lane and its address there.

    Parameters
    ----------
    build
        Of the engine; the grid is its largest.
    tables
        Numbers of tables, and their words, one for each grid point.
    """
    writes = []
    for inner, words in tables:
        for row in range(1 << build.row_bits):
            part = words[ROW_WORDS * row : ROW_WORDS * (row + 1)]
            writes.append(
                {
                    "write": 1,
                    "write_lane": row >> build.local_bits,
                    "write_address": row % (1 << build.local_bits) | inner << build.local_bits,
                    "write_row": sum((int(word) & MASK) << WIDTH * k for k, word in enumerate(part)),
                }
            )
    return writes


def row_ports(parameters: RowBusesParameters, writes: int = 1) -> dict[str, Any]:
    """Return the ports by which a test writes rows; ``write`` has a bit for each kind of memory."""
    return {
        "write": In(writes),
        "write_lane": In(max(1, parameters.build.lane_bits)),
        "write_address": In(parameters.address_bits),
        "write_row": In(ROW_WORDS * WIDTH),
    }


def add_rows(
    m: Module, top: Any, parameters: RowBusesParameters, *, halves: bool = False, shift: Value | None = None
) -> RowBuses:
    """Build the buses and the rows of all lanes.

    With ``halves`` rows are read as a local search and a scan request them: the grid is there once, and the expected
    values once for each exogenous state.
    """
    build, p, whole = parameters.build, Pipeline(m), parameters.address_bits
    m.submodules.buses = buses = RowBuses(parameters)
    m.d.comb += buses.shift.eq(Const(build.local_bits) if shift is None else shift)
    for number, bank in enumerate(buses.banks):
        data = []
        for table, depth in enumerate((whole - 2, build.local_bits) if halves else (whole,)):
            m.submodules[f"rows{number}_{table}"] = ram = Ram(
                ROW_WORDS * WIDTH, 1 << (depth or parameters.address_bits)
            )
            chosen = top.write_address[-1] == table if halves else Const(1, 1)
            m.d.comb += [
                ram.write.eq(top.write[0] & (top.write_lane == number) & chosen),
                ram.write_address.eq(top.write_address[:depth]),
                ram.write_data.eq(top.write_row),
                ram.read_address.eq(bank.address[:depth]),
            ]
            data.append(ram.read_data)
        word: Value = data[0]
        if halves:
            expected, grid = data
            low, high = slice(None, HALF_WORDS * WIDTH), slice(HALF_WORDS * WIDTH, None)
            upper = p.delay(p.input(bank.address[-2]), READ_LATENCY).value
            word = Mux(upper, Cat(grid[high], expected[high]), Cat(expected[low], grid[low]))
        m.d.comb += bank.data.eq(word)
    return buses


def add_states(m: Module, top: Any, unit: Any, names: Iterable[str]) -> None:
    """Build the memories of a lane that the ports ``state_*`` write, and the unit reads."""
    for name in names:
        word = getattr(top, f"state_{name}")
        m.submodules[name] = ram = Ram(len(word), 1 << len(top.state_address))
        m.d.comb += [
            ram.write.eq(top.write[1]),
            ram.write_address.eq(top.state_address),
            ram.write_data.eq(word),
            ram.read_address.eq(getattr(unit, f"{name}_address")),
            getattr(unit, f"{name}_data").eq(ram.read_data),
        ]
