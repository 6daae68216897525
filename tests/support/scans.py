"""A lane's scan with its evaluator and its memories, the buses and the rows of all lanes, for its tests."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import EvaluatorInstance, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityPorts
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.memory.ram import Ram
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan.scan import Scan
from support.sweeps import add_rows, row_ports

OUTPUTS = ("position", "point", "state", "moved", "choice")


class Probe(wiring.Component):
    """One lane's scan, which writes what it finds. One port writes each kind of memory; another lane may take turns.

    ``rival`` requests row ``rival_row`` of the grid, and of state 0's expected values, on behalf of the lane whose
    turns are in the same clocks and which has priority; ``restart`` begins a round of turns.
    """

    def __init__(self, parameters: ScanParameters, lane: int) -> None:
        self.parameters = parameters
        self.lane = lane
        build = parameters.build
        self.buses = RowBusesParameters(build, build.inner_bits)
        choices = build.index_bits << build.state_bits
        super().__init__(
            {
                **CONSTANTS,
                **{name: In(1) for name in ("start", "divide", "odd", "restart", "rival")},
                "rival_row": In(build.row_bits),
                "points": In(build.point_bits + 1),
                "states": In(5),
                "last_state": In(build.state_bits),
                "point_shift": In(range(build.point_bits + 1)),
                "last_position": In(build.position_bits),
                "below": In(choices),
                "above": In(choices),
                **row_ports(self.buses, 3),
                "state_address": In(build.position_bits),
                "state_wealth": In(WIDTH),
                "state_choice": In(build.index_bits),
                "busy": Out(1),
                "crossed": Out(1),
                "saturated": Out(1),
                "result": Out(1),
                "moved": Out(1),
                "choice": Out(build.index_bits),
                "position": Out(build.position_bits),
                "point": Out(build.point_bits),
                "state": Out(build.state_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        m.submodules.scan = scan = Scan(self.parameters)
        buses = add_rows(m, self, self.buses, halves=True)
        m.submodules.evaluator = evaluator = EvaluatorInstance(UtilityPorts.of(self))
        wiring.connect(m, scan.fetch, buses.lanes[self.lane])
        rival = self.lane - SLOTS
        if rival >= 0:
            m.d.comb += [
                buses.lanes[rival].request.eq(self.rival),
                buses.lanes[rival].row.eq(self.rival_row),
                buses.lanes[rival].inner.eq(1 << (build.inner_bits - 1)),
            ]
        m.d.comb += buses.restart.eq(self.restart)
        reads = {
            "wealth": ("wealth", scan.wealth_address, evaluator.wealth),
            "own": ("choice", scan.own_address, scan.own),
            "below": ("choice", scan.below_address, scan.below_data),
            "above": ("choice", scan.above_address, scan.above_data),
        }
        for name, (kind, address, out) in reads.items():
            word = getattr(self, f"state_{kind}")
            m.submodules[f"words_{name}"] = ram = Ram(len(word), 1 << len(self.state_address))
            found = scan.moved if kind == "choice" else Const(0, 1)
            m.d.comb += [
                ram.write.eq(self.write[1] | found),
                ram.write_address.eq(Mux(found, scan.of.position, self.state_address)),
                ram.write_data.eq(Mux(found, scan.choice, word)),
                ram.read_address.eq(address),
                out.eq(ram.read_data),
            ]
        ev_time = EvaluatorParameters(build.multiplier).ev_time
        m.d.comb += [
            evaluator.x.eq(scan.x),
            evaluator.ev.eq(p.delay(p.input(scan.ev), ev_time).value),
            *(getattr(scan, name).eq(getattr(evaluator, name)) for name in ("objective", "feasible", "over")),
            *(
                getattr(scan, name).eq(getattr(self, name))
                for name in ("start", "divide", "odd", "points", "states", "last_state", "point_shift", "last_position")
            ),
            scan.write.eq(self.write[1] | scan.moved),
            scan.below.eq(self.below),
            scan.above.eq(self.above),
            *(
                getattr(self, name).eq(getattr(scan, name))
                for name in ("busy", "crossed", "saturated", "result", "moved", "choice")
            ),
            *(getattr(self, name).eq(getattr(scan.of, name)) for name in ("position", "point", "state")),
        ]
        return m
