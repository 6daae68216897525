"""A lane's part of the brackets at the ends of the grid, which all lanes share."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.memory.ram import Ram
from beltline.hw.sweep.scan.parameters import SHARED_JOBS, ScanParameters


class Share(wiring.Component):
    """Sends brackets of a lane's states to other lanes, and receives brackets of other lanes' states.

    The brackets of the first and the last point of the grid reach to its ends. They are by far the longest, and those
    of a point belong to one lane. So the lanes with these points send them out, one in a clock, and each lane evaluates
    as many of them as the others. A bracket travels with its state's cash on hand, which is stored here under the
    number of the bracket.

    Latency: a clock from ``send`` to ``sent`` and from ``given`` to ``received``; ``READ_LATENCY`` from ``address`` to
    ``given_wealth``. Throughput: a bracket in every clock in each direction. Contract: no ready; at most
    :data:`SHARED_JOBS` brackets are given after a ``restart``. Widths are those of
    :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    restart : in, 1 bit
        A round begins: the next bracket that is given has number 0.
    send, job, wealth : in, 1 bit, :attr:`ScanParameters.job`, 64 bits
        A bracket to send, and its state's cash on hand.
    sent, sent_bracket : out, 1 bit and :attr:`ScanParameters.shared`
        The bracket; 0 in clocks without one.
    given, given_bracket : in, 1 bit and :attr:`ScanParameters.shared`
        A bracket that this lane has to evaluate.
    received, received_job : out, 1 bit and :attr:`ScanParameters.job`
        The same, with its number in place of the state's position.
    address, given_wealth : in and out, ``position_bits`` and 64 bits
        The number of a bracket, and the cash on hand that came with it.
    """

    def __init__(self, parameters: ScanParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "restart": In(1),
                "send": In(1),
                "job": In(parameters.job),
                "wealth": In(WIDTH),
                "sent": Out(1),
                "sent_bracket": Out(parameters.shared),
                "given": In(1),
                "given_bracket": In(parameters.shared),
                "received": Out(1),
                "received_job": Out(parameters.job),
                "address": In(parameters.build.position_bits),
                "given_wealth": Out(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.wealth = wealth = Ram(WIDTH, SHARED_JOBS)
        bracket, job, given = self.sent_bracket, self.job, self.given_bracket
        m.d.sync += [self.sent.eq(self.send), bracket.as_value().eq(0)]
        with m.If(self.send):
            m.d.sync += [bracket.state.eq(job.of.state), bracket.wealth.eq(self.wealth)]
            m.d.sync += [getattr(bracket, name).eq(getattr(job, name)) for name in ("own", "lo", "hi")]
        number = wealth.write_address
        m.d.sync += [
            self.received.eq(self.given),
            self.received_job.of.state.eq(given.state),
            *(getattr(self.received_job, name).eq(getattr(given, name)) for name in ("own", "lo", "hi")),
            wealth.write.eq(self.given),
            wealth.write_data.eq(given.wealth),
        ]
        m.d.comb += [
            self.received_job.of.position.eq(number),
            wealth.read_address.eq(self.address),
            self.given_wealth.eq(wealth.read_data),
        ]
        with m.If(self.received):
            m.d.sync += number.eq(number + 1)
        with m.If(self.restart):
            m.d.sync += number.eq(0)
        return m
