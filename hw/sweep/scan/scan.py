"""A round of a proof in a lane: the bracket of every state that it looks at, and the candidates that are better."""

from __future__ import annotations

from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.row_buses import RowPort
from beltline.hw.sweep.scan.brackets import Brackets
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan.stream import Stream


class Scan(wiring.Component):
    """:class:`ScanParameters` in gateware.

    Attributes
    ----------
    start, divide, odd, points, states, last_state, point_shift, last_position, write, below, above
        In: see :class:`beltline.hw.sweep.scan.brackets.Brackets`.
    own_address, below_address, above_address, own, below_data, above_data
        Read ports of three copies of the lane's choices, of ``READ_LATENCY``.
    wealth_address, x, ev, objective, feasible, over
        The lane's wealth and its evaluator, see :class:`beltline.hw.sweep.scan.stream.Stream`.
    fetch
        To the buses.
    result, of, moved, choice
        Out: see :class:`beltline.hw.sweep.scan.stream.Stream`; where ``moved``, ``choice`` must be written at once.
    busy, crossed
        Out: see :class:`beltline.hw.sweep.scan.brackets.Brackets`.
    saturated
        Out: a word left its range.
    """

    def __init__(self, parameters: ScanParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        choices = build.index_bits << build.state_bits
        position = build.position_bits
        super().__init__(
            {
                **{name: In(1) for name in ("start", "divide", "odd", "write")},
                "points": In(build.point_bits + 1),
                "states": In(5),
                "last_state": In(build.state_bits),
                "point_shift": In(range(build.point_bits + 1)),
                "last_position": In(position),
                "below": In(choices),
                "above": In(choices),
                **{f"{name}_address": Out(position) for name in ("own", "below", "above", "wealth")},
                **{name: In(build.index_bits) for name in ("own", "below_data", "above_data")},
                "x": Out(WIDTH),
                "ev": Out(WIDTH),
                "objective": In(signed(OBJECTIVE_BITS)),
                "feasible": In(1),
                "over": In(1),
                "fetch": Out(RowPort(build.row_bits, build.inner_bits)),
                "result": Out(1),
                "of": Out(parameters.state),
                "moved": Out(1),
                "choice": Out(build.index_bits),
                "busy": Out(1),
                "crossed": Out(1),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.brackets = brackets = Brackets(self.parameters)
        m.submodules.stream = stream = Stream(self.parameters)
        wiring.connect(m, wiring.flipped(self.fetch), stream.fetch)
        # A port of a unit that is called as one of the scan, and has its direction, is that port.
        for unit in (brackets, stream):
            for name, member in unit.signature.members.items():
                own = self.signature.members
                if member.is_port and name in own and member.flow is own[name].flow:
                    inner, outer = getattr(unit, name), getattr(self, name)
                    m.d.comb += outer.eq(inner) if member.flow is Out else inner.eq(outer)
        m.d.comb += [
            stream.valid.eq(brackets.valid),
            stream.job.eq(brackets.job),
            brackets.pop.eq(stream.pop),
            brackets.result.eq(stream.result),
        ]
        return m
