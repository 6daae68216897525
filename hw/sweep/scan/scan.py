"""A lane's part of a proof round: brackets of its states, and the candidates that are better than the choices."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.row_buses import RowPort
from beltline.hw.sweep.scan.brackets import Brackets
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan.share import Share
from beltline.hw.sweep.scan.stream import Stream


class Scan(wiring.Component):
    """Evaluates the brackets of a lane's states in a proof round, and reports better candidates.

    The parameters are :class:`ScanParameters`. :class:`Brackets` finds the brackets, :class:`Stream` fetches and
    evaluates their candidates. Throughput: a state in every clock if it is skipped, and 4 clocks for each half-row of a
    bracket, or the turns of the bus if these take longer. Contract: results have no ready. Widths are those of
    :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    start, divide, odd, write : in, 1 bit each
        See :class:`beltline.hw.sweep.scan.brackets.Brackets`, as for the next two lines.
    points, states, last_state, point_shift, last_position : in
        Sizes of the lane.
    below, above : in, ``index_bits`` for each of ``2**state_bits`` exogenous states
        Choices of the points just outside the lane.
    own_address, below_address, above_address : out, ``position_bits`` each
        Addresses of three copies of the lane's choices.
    own, below_data, above_data : in, ``index_bits`` each
        The choices, ``READ_LATENCY`` later.
    wealth_address : out, ``position_bits``
        Address of the lane's cash on hand, for the evaluator.
    x, ev : out, 64 bits each
        Grid point (or cost) and expected value of a candidate, to the evaluator.
    objective, feasible, over : in, signed 65 bits, 1 bit, 1 bit
        Results of the evaluator, see :class:`beltline.hw.sweep.scan.stream.Stream`.
    fetch : out, :class:`beltline.hw.sweep.row_buses.RowPort`
        Requests half-rows on the row buses.
    result : out, 1 bit
        High in clocks in which a bracket is finished.
    of : out, :attr:`ScanParameters.state`
        Its state.
    moved, choice : out, 1 bit and ``index_bits``
        With ``result``: another candidate than the choice is the best, and which one. It must be written in this clock.
    busy, crossed : out, 1 bit each
        See :class:`beltline.hw.sweep.scan.brackets.Brackets`.
    saturated : out, 1 bit
        High for a clock: a word of an evaluation left its range.
    forced : in, a bit for each exogenous state of the build
        Only in general builds: see :class:`beltline.hw.sweep.scan.brackets.Brackets`.
    least, most : in, ``index_bits`` each
        Only in general builds: see the same class.
    sharing, confirmed, at_begin, at_end : in, 1 bit each
        Only in general builds, as the ports below: see
        :class:`beltline.hw.sweep.scan.brackets.Brackets`. With ``sharing`` results are those of other lanes' states.
    wealth : in, 64 bits
        The word at ``wealth_address``, ``READ_LATENCY`` later.
    sent, sent_bracket, given, given_bracket : out, out, in, in
        Brackets to and from other lanes, see :class:`beltline.hw.sweep.scan.share.Share`.
    given_wealth : out, 64 bits
        With ``sharing``: cash on hand for the evaluator, in place of the word at ``wealth_address``.
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
                "states": In(build.count_bits),
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
                **(self._of_general() if build.general else {}),
            }
        )

    def _of_general(self) -> dict[str, wiring.Member]:
        """Return the ports that only a general build has."""
        shared = self.parameters.shared
        return {
            "forced": In(self.parameters.build.states),
            **{name: In(self.parameters.build.index_bits) for name in ("least", "most")},
            **{name: In(1) for name in ("sharing", "confirmed", "at_begin", "at_end", "given")},
            "wealth": In(WIDTH),
            "sent": Out(1),
            "sent_bracket": Out(shared),
            "given_bracket": In(shared),
            "given_wealth": Out(WIDTH),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.brackets = brackets = Brackets(self.parameters)
        m.submodules.stream = stream = Stream(self.parameters)
        wiring.connect(m, wiring.flipped(self.fetch), stream.fetch)
        # A port of a unit with name and direction of a port of this component is connected to it.
        units: list[Any] = [brackets, stream]
        if self.parameters.build.general:
            m.submodules.share = share = Share(self.parameters)
            units.append(share)
        for unit in units:
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
        if self.parameters.build.general:
            m.d.comb += [
                share.restart.eq(self.start),
                share.send.eq(brackets.send),
                share.job.eq(brackets.send_job),
                share.address.eq(stream.wealth_address),
                brackets.received.eq(share.received),
                brackets.received_job.eq(share.received_job),
            ]
            with m.If(self.sharing):
                m.d.comb += self.wealth_address.eq(brackets.send_address)
        return m
