"""The tables of a lane's own states: wealth, values, choices, and the utilities around them."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import BLOCK_DEPTH, Ram
from beltline.hw.sweep.check import KEPT_BITS
from beltline.hw.sweep.lane.parameters import LaneParameters


class Tables(wiring.Component):
    """Four memories, each with one read and one write port, which the passes and the host share.

    Reads are of ``READ_LATENCY``, one a clock and memory. A pass reads while it is under way, the host otherwise.

    Attributes
    ----------
    wealth_write, value_write, write_address, data, read_address, read_wealth, read_policy
        In: the host's accesses, as those of :class:`beltline.hw.sweep.lane.lane.Lane`.
    word
        Out: what the host reads.
    checking, walking, patching
        In: which pass is under way.
    check_choice, check_kept, check_old, walk_wealth, walk_choice, walk_old, patch_position
        In: addresses of the passes, by what they read.
    wealth, value, choice, kept
        Out: what was read.
    found, found_position, found_choice, found_kept
        In: a new choice and the utilities around it, from the walk.
    written, place, new
        In: a new value; the host may not write in that clock.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        ports = parameters.ports
        hosts = ("wealth_write", "value_write", "write_address", "data", "read_address", "read_wealth", "read_policy")
        reads = ("check_choice", "check_kept", "check_old", "walk_wealth", "walk_choice", "walk_old", "patch_position")
        super().__init__(
            {
                **{name: ports[name] for name in (*hosts, "word")},
                **{name: In(1) for name in ("checking", "walking", "patching")},
                **{name: In(bits) for name in reads},
                "wealth": Out(WIDTH),
                "value": Out(WIDTH),
                "choice": Out(build.index_bits),
                "kept": Out(KEPT_BITS),
                "found": In(1),
                "found_position": In(bits),
                "found_choice": In(build.index_bits),
                "found_kept": In(KEPT_BITS),
                "written": In(1),
                "place": In(bits),
                "new": In(signed(WIDTH)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build, cells = self.parameters.build, self.parameters.cells
        m.submodules.wealth = wealth = Ram(WIDTH, cells, WORD_BYTES, "block" if cells >= BLOCK_DEPTH else "")
        m.submodules.value = value = Ram(WIDTH, cells, WORD_BYTES)
        m.submodules.choice = choice = Ram(build.index_bits, cells)
        m.submodules.kept = kept = Ram(KEPT_BITS, cells)
        own = Mux(self.walking, self.walk_old, Mux(self.patching, self.patch_position, self.read_address))
        m.d.comb += [
            wealth.write.eq(self.wealth_write),
            wealth.write_address.eq(self.write_address),
            wealth.write_data.eq(self.data),
            wealth.read_address.eq(Mux(self.walking, self.walk_wealth, self.read_address)),
            value.write.eq(Mux(self.written, (1 << WORD_BYTES) - 1, self.value_write)),
            value.write_address.eq(Mux(self.written, self.place, self.write_address)),
            value.write_data.eq(Mux(self.written, self.new, self.data)),
            value.read_address.eq(Mux(self.checking, self.check_old, own)),
            choice.write.eq(self.found),
            choice.write_address.eq(self.found_position),
            choice.write_data.eq(self.found_choice),
            choice.read_address.eq(
                Mux(self.checking, self.check_choice, Mux(self.walking, self.walk_choice, self.read_address))
            ),
            kept.write.eq(self.found),
            kept.write_address.eq(self.found_position),
            kept.write_data.eq(self.found_kept),
            kept.read_address.eq(self.check_kept),
            self.wealth.eq(wealth.read_data),
            self.value.eq(value.read_data),
            self.choice.eq(choice.read_data),
            self.kept.eq(kept.read_data),
        ]
        read = Mux(self.read_wealth, wealth.read_data, Mux(self.read_policy, choice.read_data, value.read_data))
        m.d.sync += self.word.eq(read)
        return m
