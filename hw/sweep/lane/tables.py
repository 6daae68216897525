"""The tables of a lane's own states: wealth, values, choices, and the utilities around them."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value, signed
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
    A build with ``proof`` keeps the values before a sweep beside those after it, and every choice three times.

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
    better
        In, of a build with ``proof``, in place of ``found``: a new choice alone, from a scan.
    written, place, new
        In: a new value; the host may not write in that clock.
    values
        In, of a build with ``proof``: which of the two copies has the values before the sweep. The host writes both and
        reads that one.
    fresh
        Out: of a build with ``proof``, the value after the sweep, and else ``value``.
    scanning, scan_wealth, scan_choice, scan_below, scan_above, below, above
        Of a build with ``proof``: a scan is under way, and reads a wealth and three choices, ``below`` and ``above``
        from copies of their own.
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
                "fresh": Out(WIDTH),
                **(self._of_proof() if build.proof else {}),
            }
        )

    def _of_proof(self) -> dict[str, wiring.Member]:
        build = self.parameters.build
        return {
            "values": In(1),
            "scanning": In(1),
            "better": In(1),
            **{f"scan_{name}": In(build.position_bits) for name in ("wealth", "choice", "below", "above")},
            "below": Out(build.index_bits),
            "above": Out(build.index_bits),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build, cells = self.parameters.build, self.parameters.cells
        m.submodules.wealth = wealth = Ram(WIDTH, cells, WORD_BYTES, "block" if cells >= BLOCK_DEPTH else "")
        m.submodules.choice = choice = Ram(build.index_bits, cells)
        m.submodules.kept = kept = Ram(KEPT_BITS, cells)
        own = Mux(self.walking, self.walk_old, Mux(self.patching, self.patch_position, self.read_address))
        values = [Ram(WIDTH, cells, WORD_BYTES) for _ in range(2 if build.proof else 1)]
        for number, value in enumerate(values):
            # Of two, the host writes both, and a sweep the one that has not the values before it.
            m.submodules["value" if number == 0 else "second_value"] = value
            whole = (1 << WORD_BYTES) - 1
            written = Mux(self.values != number, whole, 0) if build.proof else whole
            m.d.comb += [
                value.write.eq(Mux(self.written, written, self.value_write)),
                value.write_address.eq(Mux(self.written, self.place, self.write_address)),
                value.write_data.eq(Mux(self.written, self.new, self.data)),
                value.read_address.eq(Mux(self.checking, self.check_old, own)),
            ]
        read_values = [value.read_data for value in values]
        if build.proof:
            read_values = [Mux(self.values, *pair) for pair in (read_values[::-1], read_values)]
            for name in ("below", "above"):
                m.submodules[f"choice_{name}"] = copy = Ram(build.index_bits, cells)
                m.d.comb += [
                    copy.write.eq(self.found | self.better),
                    copy.write_address.eq(self.found_position),
                    copy.write_data.eq(self.found_choice),
                    copy.read_address.eq(getattr(self, f"scan_{name}")),
                    getattr(self, name).eq(copy.read_data),
                ]
        m.d.comb += [
            wealth.write.eq(self.wealth_write),
            wealth.write_address.eq(self.write_address),
            wealth.write_data.eq(self.data),
            wealth.read_address.eq(self._address("wealth", self.read_address)),
            choice.write.eq(self.found | self.better if build.proof else self.found),
            choice.write_address.eq(self.found_position),
            choice.write_data.eq(self.found_choice),
            choice.read_address.eq(Mux(self.checking, self.check_choice, self._address("choice", self.read_address))),
            kept.write.eq(self.found),
            kept.write_address.eq(self.found_position),
            kept.write_data.eq(self.found_kept),
            kept.read_address.eq(self.check_kept),
            self.wealth.eq(wealth.read_data),
            self.value.eq(read_values[0]),
            self.fresh.eq(read_values[-1]),
            self.choice.eq(choice.read_data),
            self.kept.eq(kept.read_data),
        ]
        read = Mux(self.read_wealth, wealth.read_data, Mux(self.read_policy, choice.read_data, self.value))
        m.d.sync += self.word.eq(read)
        return m

    def _address(self, name: str, otherwise: Value) -> Value:
        """Where a walk, or a scan, reads."""
        address = Mux(self.walking, getattr(self, f"walk_{name}"), otherwise)
        return Mux(self.scanning, getattr(self, f"scan_{name}"), address) if self.parameters.build.proof else address
