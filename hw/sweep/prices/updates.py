"""Control of the passes of a sweep engine that computes prices: one for all lanes."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.registers import UPDATE_FIELD
from beltline.hw.sweep.parameters import SweepParameters

EVERY_BITS = UPDATE_FIELD.stop - UPDATE_FIELD.start


class Updates(wiring.Component):
    """Decides after each sweep whether prices are updated, and makes the two passes of an update.

    Prices are updated after a sweep from whose values others follow (``differs``, or no update in this run so far), if
    its norm is below the threshold, or it is the ``every``-th since the last update. A run converges only with a sweep
    from whose values its prices follow. Nothing of this happens if ``every`` is 0.

    Latency: ``pass_done`` is high in the clock of ``ended`` if prices are not updated, and otherwise
    :meth:`beltline.hw.sweep.prices.parameters.PricesParameters.clocks` later.

    Parameters
    ----------
    build
        Sizes of the engine.

    Attributes
    ----------
    begin, prologue : in, 1 bit each
        A pass of the sequencer begins; it is the prologue.
    ended : in, 1 bit
        All lanes have ended their pass.
    below : in, 1 bit
        With ``ended``: the norm of the sweep is below the threshold.
    differs : in, 1 bit
        With ``ended``: in some state it has changed whether bonds are paid.
    every : in, 8 bits
        Largest number of sweeps until prices are updated.
    states : in, ``count_bits``
        ``N_z`` of the problem.
    arrived : in, 1 bit
        The smallest cost of the last exogenous state has passed all lanes.
    again : out, 1 bit
        High for a clock: the lanes begin a pass of an update.
    pricing, storing : out, 1 bit each
        An update is in progress; it is in its second pass, which writes costs.
    chain, chain_state : out, 1 bit and ``state_bits``
        The smallest cost of an exogenous state enters the last lane.
    cold : out, 1 bit
        Costs have changed since the last sweep, so no cached utility is up to date.
    plain : out, 1 bit
        From the clock after ``pass_done``: the prices of the sweep follow from its values.
    pass_done : out, 1 bit
        High for a clock: the pass of the sequencer has ended.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        flags = ("begin", "prologue", "ended", "below", "differs", "arrived")
        super().__init__(
            {
                **{name: In(1) for name in flags},
                "every": In(EVERY_BITS),
                "states": In(build.count_bits),
                **{name: Out(1) for name in ("again", "pricing", "storing", "chain", "cold", "pass_done")},
                "chain_state": Out(build.state_bits),
                "plain": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        since, known = Signal(EVERY_BITS), Signal()
        due, last_state = Signal(), Signal(self.build.state_bits)
        moving = Signal()
        m.d.sync += [due.eq(since + 1 >= self.every), last_state.eq(self.states - 1)]
        m.d.comb += moving.eq((self.every != 0) & (self.differs | ~known))
        with m.FSM():
            with m.State("IDLE"), m.If(self.begin):
                m.next = "PASS"
            with m.State("PASS"), m.If(self.ended):
                m.d.sync += [self.cold.eq(0), self.plain.eq(~moving)]
                with m.If(self.prologue):
                    m.d.sync += [known.eq(0), since.eq(0)]
                    m.d.comb += self.pass_done.eq(1)
                    m.next = "IDLE"
                with m.Elif(moving & (self.below | due)):
                    m.d.sync += [known.eq(1), since.eq(0), self.pricing.eq(1), self.storing.eq(0)]
                    m.next = "BEGIN"
                with m.Else():
                    # When an update is due it remains so until a sweep needs it.
                    m.d.sync += since.eq(since + ~due)
                    m.d.comb += self.pass_done.eq(1)
                    m.next = "IDLE"
            with m.State("BEGIN"):
                m.d.comb += self.again.eq(1)
                m.next = "LIST"
            with m.State("LIST"), m.If(self.ended):
                with m.If(self.storing):
                    m.d.sync += [self.pricing.eq(0), self.storing.eq(0), self.cold.eq(1)]
                    m.d.comb += self.pass_done.eq(1)
                    m.next = "IDLE"
                with m.Else():
                    m.d.sync += [self.chain.eq(1), self.chain_state.eq(0)]
                    m.next = "CHAIN"
            with m.State("CHAIN"):
                with m.If(self.chain & (self.chain_state == last_state)):
                    m.d.sync += self.chain.eq(0)
                with m.Else():
                    m.d.sync += self.chain_state.eq(self.chain_state + 1)
                with m.If(self.arrived):
                    m.d.sync += self.storing.eq(1)
                    m.next = "BEGIN"
        return m
